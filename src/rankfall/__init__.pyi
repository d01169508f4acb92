"""The public names of Rankfall, listed once. ``__init__.py`` imports each of them when it is first used."""

from .catalog import Catalog as Catalog
from .click_logs import ClickLog as ClickLog
from .click_logs import read_click_log as read_click_log
from .data import generate as generate
from .data.preparation import (
    Prepared as Prepared,
)
from .data.preparation import (
    prepare as prepare,
)
from .errors import (
    CatalogError as CatalogError,
)
from .errors import (
    ContractError as ContractError,
)
from .errors import (
    FeedbackError as FeedbackError,
)
from .errors import (
    FileError as FileError,
)
from .errors import (
    ProblemError as ProblemError,
)
from .errors import (
    RankError as RankError,
)
from .errors import (
    RankfallError as RankfallError,
)
from .errors import (
    StoreError as StoreError,
)
from .experiments.results import Run as Run
from .experiments.simulation import (
    simulate as simulate,
)
from .experiments.simulation import (
    simulate_many as simulate_many,
)
from .model import (
    Discount as Discount,
)
from .model import (
    Window as Window,
)
from .policies import (
    C2UCB as C2UCB,
)
from .policies import (
    DCMKLUCB as DCMKLUCB,
)
from .policies import (
    PDGD as PDGD,
)
from .policies import (
    POLICIES as POLICIES,
)
from .policies import (
    BatchRank as BatchRank,
)
from .policies import (
    BubbleRank as BubbleRank,
)
from .policies import (
    CascadeDUCB as CascadeDUCB,
)
from .policies import (
    CascadeHybrid as CascadeHybrid,
)
from .policies import (
    CascadeHybridEpsilon as CascadeHybridEpsilon,
)
from .policies import (
    CascadeHybridGreedy as CascadeHybridGreedy,
)
from .policies import (
    CascadeHybridTS as CascadeHybridTS,
)
from .policies import (
    CascadeKLUCB as CascadeKLUCB,
)
from .policies import (
    CascadeLinTS as CascadeLinTS,
)
from .policies import (
    CascadeLinUCB as CascadeLinUCB,
)
from .policies import (
    CascadeLinUCBFull as CascadeLinUCBFull,
)
from .policies import (
    CascadeLSB as CascadeLSB,
)
from .policies import (
    CascadeLSBFull as CascadeLSBFull,
)
from .policies import (
    CascadeLSBTS as CascadeLSBTS,
)
from .policies import (
    CascadeSWUCB as CascadeSWUCB,
)
from .policies import (
    CascadeTS as CascadeTS,
)
from .policies import (
    CascadeUCB1 as CascadeUCB1,
)
from .policies import (
    Explanation as Explanation,
)
from .policies import (
    LinearPolicy as LinearPolicy,
)
from .policies import (
    LSBGreedy as LSBGreedy,
)
from .policies import (
    Policy as Policy,
)
from .policies import (
    RankedEXP3 as RankedEXP3,
)
from .policies import (
    RankedUCB1 as RankedUCB1,
)
from .policies import (
    RankedZooming as RankedZooming,
)
from .policies import (
    Ranking as Ranking,
)
from .policies import (
    Recipe as Recipe,
)
from .policies import (
    RecurRank as RecurRank,
)
from .policies import (
    TopRank as TopRank,
)
from .policies import (
    check_policy as check_policy,
)
from .policies import (
    load as load,
)
from .users import (
    Bound as Bound,
)
from .users import (
    Cascade as Cascade,
)
from .users import (
    CascadeUser as CascadeUser,
)
from .users import (
    Coverage as Coverage,
)
from .users import (
    DependentClick as DependentClick,
)
from .users import (
    DocumentBased as DocumentBased,
)
from .users import (
    Drifting as Drifting,
)
from .users import (
    Environment as Environment,
)
from .users import (
    Hybrid as Hybrid,
)
from .users import (
    Intents as Intents,
)
from .users import (
    Linear as Linear,
)
from .users import (
    PerItem as PerItem,
)
from .users import (
    PositionBased as PositionBased,
)
from .users import (
    User as User,
)
from .users import (
    check_environment as check_environment,
)
from .users import (
    restaurant as restaurant,
)
from .users import (
    theorem_bound as theorem_bound,
)
from .users.fitting import (
    fit_cascade as fit_cascade,
)
from .users.fitting import (
    fit_dependent_click as fit_dependent_click,
)
from .users.fitting import (
    fit_position_based as fit_position_based,
)

__version__: str
