// What a reader would find wrong with the look of a page: a list of sentences.
() => {
  const short = (element) => `<${element.localName}> "${element.textContent.trim().slice(0, 40)}"`;
  const found = [];

  if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");

  for (const element of document.querySelectorAll("main *, footer")) {
    const box = element.getBoundingClientRect();
    const outside = box.width && (box.left < -1 || box.right > innerWidth + 1);
    if (outside && !element.closest(".scrolled, pre")) found.push(`${short(element)} is cut off`);
  }

  // A box of text is taller than its letters.
  const overlap = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 4;
  for (const picture of document.querySelectorAll("figure > svg")) {
    const frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    texts.forEach(([text, box], place) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 3)
        found.push(`${short(text)} is outside of its chart`);
      for (const [other, otherBox] of texts.slice(place + 1))
        if (overlap(box, otherBox)) found.push(`${short(text)} and ${short(other)} overlap`);
    });
  }

  // WCAG 2.2: relative luminance, and contrast of text with what is behind it.
  const rgba = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };
  const over = (front, back) => [0, 1, 2].map((part) => front[3] * front[part] + (1 - front[3]) * back[part]);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const color = rgba(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color : over(color, behind(element.parentElement));
  };
  const luminance = (color) => {
    const [red, green, blue] = color.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const front = over(rgba(element instanceof SVGElement ? style.fill : style.color), back);
    const [dark, light] = [luminance(front), luminance(back)].sort((one, other) => one - other);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) found.push(`${short(element)} has a contrast of ${contrast.toFixed(1)}`);
  }
  return found;
}
