// Click rates and rewards, and how sure they are.

const Z = 1.959963984540054; // 95 %, two-sided

/** Lists with feedback that each side needs before the two are compared. */
export const ENOUGH = 30;

/** Wilson's interval for `clicked` of `with_feedback`; null when there is nothing to go by. */
export function wilson(clicked, with_feedback) {
  if (!with_feedback) return null;
  const p = clicked / with_feedback;
  const z2 = (Z * Z) / with_feedback;
  const middle = (p + z2 / 2) / (1 + z2);
  const half = (Z / (1 + z2)) * Math.sqrt((p * (1 - p)) / with_feedback + z2 / (4 * with_feedback));
  return { rate: p, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Newcombe's hybrid score interval for the difference of two rates, first minus second. */
export function difference(first, second) {
  const a = wilson(first.clicked, first.with_feedback);
  const b = wilson(second.clicked, second.with_feedback);
  if (!a || !b) return null;
  const d = a.rate - b.rate;
  return {
    difference: d,
    low: d - Math.hypot(a.rate - a.low, b.high - b.rate),
    high: d + Math.hypot(a.high - a.rate, b.rate - b.low),
    relative: b.rate > 0 ? d / b.rate : null,
  };
}

/** Half the width of the interval for what lists of an arm earn in the mean (normal approximation). */
const halfWidth = ({ reward, with_feedback }) => (Z * reward.sd) / Math.sqrt(with_feedback);

/** The mean reward of an arm and its interval; null when there is nothing to go by. */
export function meanReward(arm) {
  if (arm?.reward?.sd == null) return null;
  const { mean } = arm.reward;
  return { mean, low: mean - halfWidth(arm), high: mean + halfWidth(arm) };
}

/** The difference of two mean rewards, first minus second, and its interval. */
export function rewardDifference(first, second) {
  if (!meanReward(first) || !meanReward(second)) return null;
  const d = first.reward.mean - second.reward.mean;
  const half = Math.hypot(halfWidth(first), halfWidth(second));
  const base = second.reward.mean;
  return { difference: d, low: d - half, high: d + half, relative: base > 0 ? d / base : null };
}

/** Buckets of the history put together to at most `most` points, each {start, seconds, arms, covered}. */
export function condense(history, most) {
  const seconds = history.bucket_seconds;
  const used = history.buckets
    .map((bucket) => ({ ...bucket, at: Date.parse(bucket.start) / 1000 }))
    .filter((bucket) => bucket.covered != null || Object.values(bucket.arms).some((arm) => arm.with_feedback));
  if (!used.length) return { seconds, points: [] };
  const span = (used.at(-1).at - used[0].at) / seconds + 1;
  const width = seconds * Math.ceil(span / most);
  const groups = groupBy(used, width);
  const points = [...groups].map(([index, buckets]) => {
    const arms = {};
    for (const bucket of buckets) {
      for (const [arm, count] of Object.entries(bucket.arms)) {
        arms[arm] ??= { with_feedback: 0, clicked: 0 };
        arms[arm].with_feedback += count.with_feedback;
        arms[arm].clicked += count.clicked;
      }
    }
    const covered = buckets.map((bucket) => bucket.covered).filter((value) => value != null);
    return {
      start: index * width * 1000,
      middle: (index + 0.5) * width * 1000,
      arms,
      covered: covered.length ? covered.reduce((sum, value) => sum + value, 0) / covered.length : null,
    };
  });
  return { seconds: width, points };
}

function groupBy(buckets, width) {
  const groups = new Map();
  for (const bucket of buckets) {
    const index = Math.floor(bucket.at / width);
    if (!groups.has(index)) groups.set(index, []);
    groups.get(index).push(bucket);
  }
  return groups;
}
