"""The public names of Rankfall, listed once. ``__init__.py`` imports each of them when it is first used."""

from .catalog import Catalog as Catalog
from .click_logs import ClickLog as ClickLog
from .click_logs import read_click_log as read_click_log
from .data import build_catalog as build_catalog
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
from .experiments.many_users.results import UsersRun as UsersRun
from .experiments.many_users.simulation import simulate_users as simulate_users
from .experiments.results import Run as Run
from .experiments.simulation import (
    simulate as simulate,
)
from .experiments.simulation import (
    simulate_many as simulate_many,
)
from .frames import to_pandas as to_pandas
from .policies.c2ucb import (
    C2UCB as C2UCB,
)
from .policies.checks import (
    check_policy as check_policy,
)
from .policies.context import (
    Context as Context,
)
from .policies.context import (
    RequestFeatures as RequestFeatures,
)
from .policies.elimination.batchrank import (
    BatchRank as BatchRank,
)
from .policies.elimination.bubblerank import (
    BubbleRank as BubbleRank,
)
from .policies.elimination.recurrank import (
    RecurRank as RecurRank,
)
from .policies.elimination.toprank import (
    TopRank as TopRank,
)
from .policies.explanation import (
    Explanation as Explanation,
)
from .policies.factors import (
    Category as Category,
)
from .policies.factors import (
    Hour as Hour,
)
from .policies.factors import (
    Number as Number,
)
from .policies.factors import (
    Weekday as Weekday,
)
from .policies.forgetting import (
    Discount as Discount,
)
from .policies.forgetting import (
    Window as Window,
)
from .policies.greedy_escb import (
    GreedyESCB as GreedyESCB,
)
from .policies.linear.conservative import (
    C4UCB as C4UCB,
)
from .policies.linear.empirical_bayes import (
    Statistics as Statistics,
)
from .policies.linear.empirical_bayes import (
    learn_prior as learn_prior,
)
from .policies.linear.hybrid import (
    CascadeHybrid as CascadeHybrid,
)
from .policies.linear.hybrid import (
    CascadeHybridEpsilon as CascadeHybridEpsilon,
)
from .policies.linear.hybrid import (
    CascadeHybridGreedy as CascadeHybridGreedy,
)
from .policies.linear.hybrid import (
    CascadeHybridTS as CascadeHybridTS,
)
from .policies.linear.lin_ucb import (
    CascadeLinTS as CascadeLinTS,
)
from .policies.linear.lin_ucb import (
    CascadeLinUCB as CascadeLinUCB,
)
from .policies.linear.lin_ucb import (
    CascadeLinUCBFull as CascadeLinUCBFull,
)
from .policies.linear.logistic import (
    UCBCCA as UCBCCA,
)
from .policies.linear.logistic import (
    UCBCCAPlus as UCBCCAPlus,
)
from .policies.linear.lsb import (
    CascadeLSB as CascadeLSB,
)
from .policies.linear.lsb import (
    CascadeLSBFull as CascadeLSBFull,
)
from .policies.linear.lsb import (
    CascadeLSBTS as CascadeLSBTS,
)
from .policies.linear.lsb import (
    LSBGreedy as LSBGreedy,
)
from .policies.linear.policy import (
    LinearPolicy as LinearPolicy,
)
from .policies.linear.prior import (
    Prior as Prior,
)
from .policies.linear.variance_aware import (
    VAC2UCB as VAC2UCB,
)
from .policies.linear.variance_aware import (
    CascadeWOFUL as CascadeWOFUL,
)
from .policies.many_users.across import (
    AcrossUsers as AcrossUsers,
)
from .policies.many_users.clusters import (
    ClusteredUsers as ClusteredUsers,
)
from .policies.many_users.policy import (
    ManyUsers as ManyUsers,
)
from .policies.many_users.sharing import (
    IndependentUsers as IndependentUsers,
)
from .policies.many_users.sharing import (
    Segments as Segments,
)
from .policies.many_users.sharing import (
    SharedModel as SharedModel,
)
from .policies.pdgd import (
    PDGD as PDGD,
)
from .policies.policy import (
    Policy as Policy,
)
from .policies.position_based.grab import (
    GRAB as GRAB,
)
from .policies.position_based.pbm_ts import (
    PBMTS as PBMTS,
)
from .policies.position_based.pbm_ucb import (
    PBMUCB as PBMUCB,
)
from .policies.ranked.ranked_context_zooming import (
    RankedContextZooming as RankedContextZooming,
)
from .policies.ranked.ranked_exp3 import (
    RankedEXP3 as RankedEXP3,
)
from .policies.ranked.ranked_ucb1 import (
    RankedUCB1 as RankedUCB1,
)
from .policies.ranked.ranked_zooming import (
    RankedZooming as RankedZooming,
)
from .policies.ranking import (
    Ranking as Ranking,
)
from .policies.registry import (
    POLICIES as POLICIES,
)
from .policies.registry import (
    find_policy as find_policy,
)
from .policies.registry import (
    make_policy as make_policy,
)
from .policies.rewards import (
    Rewards as Rewards,
)
from .policies.saving import (
    load as load,
)
from .policies.settings import (
    PolicySettings as PolicySettings,
)
from .policies.tabular.cascade_ducb import (
    CascadeDUCB as CascadeDUCB,
)
from .policies.tabular.cascade_klucb import (
    CascadeKLUCB as CascadeKLUCB,
)
from .policies.tabular.cascade_swucb import (
    CascadeSWUCB as CascadeSWUCB,
)
from .policies.tabular.cascade_ts import (
    CascadeTS as CascadeTS,
)
from .policies.tabular.cascade_ucb1 import (
    CascadeUCB1 as CascadeUCB1,
)
from .policies.tabular.dcm_klucb import (
    DCMKLUCB as DCMKLUCB,
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
    ClickChain as ClickChain,
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
    DynamicBayesian as DynamicBayesian,
)
from .users import (
    Environment as Environment,
)
from .users import (
    ExaminedCascade as ExaminedCascade,
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
    UserBrowsing as UserBrowsing,
)
from .users import (
    check_environment as check_environment,
)
from .users import (
    generate_intents as generate_intents,
)
from .users import (
    theorem_bound as theorem_bound,
)
from .users.fitting import (
    fit_cascade as fit_cascade,
)
from .users.fitting import (
    fit_click_chain as fit_click_chain,
)
from .users.fitting import (
    fit_dependent_click as fit_dependent_click,
)
from .users.fitting import (
    fit_dynamic_bayesian as fit_dynamic_bayesian,
)
from .users.fitting import (
    fit_examined_cascade as fit_examined_cascade,
)
from .users.fitting import (
    fit_hybrid as fit_hybrid,
)
from .users.fitting import (
    fit_position_based as fit_position_based,
)
from .users.fitting import (
    fit_simplified_bayesian as fit_simplified_bayesian,
)
from .users.fitting import (
    fit_user_browsing as fit_user_browsing,
)
from .wire.rules import (
    Apart as Apart,
)
from .wire.rules import (
    AtLeast as AtLeast,
)
from .wire.rules import (
    AtMost as AtMost,
)
from .wire.rules import (
    Only as Only,
)

__version__: str
