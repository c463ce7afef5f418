// Elements and controls that the pages share. Text enters as text, never as HTML.

export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return e;
}

// Radio buttons as one bar: mouse, touch and arrow keys come with them.
export function choice(legend, name, options, chosen, act) {
  return el(
    'fieldset',
    { class: 'choice' },
    el('legend', null, legend),
    options.map((option) => {
      const input = el('input', { type: 'radio', name, value: option, onchange: () => act(option) });
      input.checked = option === chosen;
      return el('label', null, input, el('span', null, option));
    }),
  );
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const button = (text, label, act) =>
  el('button', { type: 'button', 'aria-label': label, onclick: act }, text);

export async function copy(text, status, id = 'command-line') {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // not everywhere allowed: leave it selected
    getSelection().selectAllChildren(document.getElementById(id));
    document.execCommand('copy');
  }
  status.textContent = 'Copied.';
  setTimeout(() => {
    status.textContent = '';
  }, 3000);
}
