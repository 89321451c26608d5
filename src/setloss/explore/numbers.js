// Numbers in words, spelled as Python spells them, so that the page and the command line say the same.

/** f"{value:.{digits}g}" of Python, exact ties going to the even digit. */
function general(value, digits = 6) {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, exponent] = toExponential(value, digits);
  if (exponent < -4 || exponent >= digits) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${withoutZeros(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  const sign = value < 0 ? "-" : "";
  const figures = mantissa.replace(/[-.]/g, "");
  if (exponent < 0) return withoutZeros(`${sign}0.${"0".repeat(-exponent - 1)}${figures}`);
  return withoutZeros(`${sign}${figures.slice(0, exponent + 1)}.${figures.slice(exponent + 1)}`);
}

function toExponential(value, digits) {
  const [longer, power] = value.toExponential(60).split("e");
  const kept = digits + (value < 0 ? 1 : 0) + 1;
  const tie = /^50*$/.test(longer.slice(kept)) && "02468".includes(longer[kept - 1]);
  if (tie && digits > 1) return [longer.slice(0, kept), Number(power)];
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return [mantissa, Number(exponent)];
}

function withoutZeros(text) {
  return text.includes(".") ? text.replace(/\.?0*$/, "") : text;
}

/** Two numbers with as many digits as it takes to tell them apart. */
function apart(first, second) {
  const digits = [6, 9, 12].find((d) => general(first, d) !== general(second, d)) ?? 17;
  return [general(first, digits), general(second, digits)];
}

/** A number that reads back as itself: short decimals as they are, others as a fraction where one is exact. */
function spelled(value) {
  const decimal = String(value);
  if (decimal.length <= 6) return decimal;
  for (let below = 2; below <= 64; below++) {
    const above = Math.round(value * below);
    if (above / below === value) return `${above}/${below}`;
  }
  return decimal;
}
