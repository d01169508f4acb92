"""What a click log says for and against diversity: click models side by side on lists they were not fitted on."""

from rankfall.experiments.evidence.comparison import REFERENCE, Compared, Comparison, compare
from rankfall.experiments.evidence.page import write_page
from rankfall.experiments.evidence.verdict import Answer, Verdict, verdict

__all__ = ["REFERENCE", "Answer", "Compared", "Comparison", "Verdict", "compare", "verdict", "write_page"]
