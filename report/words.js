// Numbers as words.

export const count = new Intl.NumberFormat('en').format;
const minus = (text) => text.replace('-', '−');
export const short = (x) => minus(Number.isInteger(x) ? count(x) : Number(x.toPrecision(4)).toString());
export const points = (x) => `${x < 0 ? '−' : '+'}${Math.abs(100 * x).toFixed(1)}`;
export const percent = (x) => `${(100 * x).toFixed(1)} %`;
