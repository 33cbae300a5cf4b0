"""Rules for every page: it can be read and used by keyboard, on a phone, in light and dark colours."""

from pathlib import Path

from selenium.webdriver.common.keys import Keys

from tests.browser.visitor import DESKTOP, PHONE, Visitor

FIELDS = """
return [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
    .filter(field => field.checkVisibility() && field.getClientRects().length)
    .filter(field => !field.ariaLabel)
    .filter(field => ![...field.labels].some(label => label.innerText.trim() && label.getClientRects().length))
    .map(field => field.outerHTML)
"""
BROKEN_WORDS = """
const broken = []
for (const element of document.querySelectorAll(arguments[0])) {
    if (!element.checkVisibility() || !element.getClientRects().length) continue
    for (const node of element.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE) continue
        for (const {0: word, index} of node.data.matchAll(/[^ \\n]+/g)) {
            const range = document.createRange()
            range.setStart(node, index)
            range.setEnd(node, index + word.length)
            if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(word)
        }
    }
}
return broken
"""
# WCAG 2.2, 1.4.3 for texts and 1.4.11 for the borders of fields. The pages have plain opaque colours, so the
# background of a text is the first ancestor with a colour. Colors may be in any notation: a canvas parses all
# of them.
FAINT = """
const channel = value => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4
const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true})
const known = {}
const numbers = colour => {
    if (known[colour]) return known[colour]
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    return known[colour] = [...canvas.getImageData(0, 0, 1, 1).data]
}
const light = colour => {
    const [r, g, b] = numbers(colour).map(value => channel(value / 255))
    return .2126 * r + .7152 * g + .0722 * b
}
const opaque = colour => numbers(colour)[3] === 255
const behind = element => {
    for (let e = element; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor
        if (opaque(colour)) return colour
    }
    return 'rgb(255, 255, 255)'
}
const ratio = (one, other) => {
    const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b)
    return (bright + .05) / (dark + .05)
}
const faint = []
for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element), box = element.getBoundingClientRect()
    if (style.visibility === 'hidden' || box.width <= 1 || box.height <= 1) continue
    const texts = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
    const large = parseFloat(style.fontSize) >= 24
    if (texts.length) {
        const found = ratio(style.color, behind(element))
        if (found < (large ? 3 : 4.5)) faint.push(`${texts[0].data.trim()}: ${found.toFixed(2)}`)
    }
    if (element.matches('input:not([type=hidden]):not([type=checkbox]), select, textarea:not(#terminal *)')) {
        const found = ratio(style.borderTopColor, behind(element.parentElement))
        if (found < 3) faint.push(`the border of ${element.id}: ${found.toFixed(2)}`)
    }
}
return faint
"""
# An element that scrolls by itself, such as a table, may be wider than the page.
WIDE = """
if (document.documentElement.scrollWidth <= arguments[0]) return []
return [...document.querySelectorAll('body *')]
    .filter(element => element.getBoundingClientRect().right > arguments[0])
    .map(element => element.outerHTML.slice(0, 120))
"""
# After a key press, browsers show the focus on elements that a script focuses as on those that Tab reaches.
UNSEEN = """
const outlined = style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
const unseen = []
let reached = 0
for (const element of document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')) {
    if (element.tabIndex < 0) continue
    element.focus()
    if (document.activeElement !== element) continue
    reached += 1
    // of a terminal, which draws its own field, what is around it shows it
    const shown = [element, element.closest('#terminal')].filter(Boolean)
    if (!shown.some(each => outlined(getComputedStyle(each)))) unseen.push(element.outerHTML.slice(0, 200))
}
document.activeElement.blur()
return [reached, unseen]
"""
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
RUN_AXE = """
const done = arguments[0]
const words = found => `${found.id}: ${found.nodes.map(node => node.html.slice(0, 120)).join(' ')}`
// preloading writes inline styles, which the policy refuses; only a rule about turned phones needs it
const run = axe.run(document, {preload: false})
run.then(({violations}) => done(violations.map(words)), error => done([String(error)]))
"""


def broken_words(visitor: Visitor, selector: str) -> list[str]:
    """Return the words of these elements that are broken into several lines."""
    found: list[str] = visitor.driver.execute_script(BROKEN_WORDS, selector)
    return found


def check(visitor: Visitor) -> None:
    """Fail if the open page breaks a rule. The message names the rule and the element."""
    driver = visitor.driver
    assert driver.title.endswith(" · Skerry")
    assert len(driver.title) > len(" · Skerry")
    headings = driver.execute_script("return [...document.querySelectorAll('h1')].map(h => h.innerText)")
    assert len(headings) == 1, headings
    assert headings[0].strip()
    assert driver.execute_script("return document.documentElement.lang") == "en"
    unnamed = driver.execute_script(FIELDS)
    assert not unnamed, f"fields without a label: {unnamed}"
    driver.execute_script(AXE)
    # axe takes longest, so it runs on two of the four combinations: a light desktop and a dark phone
    _check_contrast(visitor, DESKTOP, dark=True)
    _check_contrast(visitor, DESKTOP, dark=False)
    _check_with_axe(visitor)
    _check_focus(visitor)
    _check_contrast(visitor, PHONE, dark=True)
    wide = driver.execute_script(WIDE, PHONE)
    assert not wide, f"wider than a phone: {wide}"
    _check_with_axe(visitor)
    visitor.set_screen(DESKTOP, dark=False)
    complaints = visitor.complaints()
    assert not complaints, complaints


def _check_contrast(visitor: Visitor, width: int, *, dark: bool) -> None:
    """Show the page in this size and colour scheme, and check the contrast of its texts and fields."""
    visitor.set_screen(width, dark=dark)
    faint = visitor.driver.execute_script(FAINT)
    assert not faint, f"too faint to read, {'dark' if dark else 'light'}: {faint}"


def _check_with_axe(visitor: Visitor) -> None:
    """Run all rules of axe, including those of good practice."""
    found = visitor.driver.execute_async_script(RUN_AXE)
    assert not found, f"axe found: {found}"


def _check_focus(visitor: Visitor) -> None:
    """Check that every element that Tab reaches shows its focus."""
    visitor.driver.execute_script("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    visitor.keys(Keys.TAB)
    reached, unseen = visitor.driver.execute_script(UNSEEN)
    assert reached, "nothing can be reached by keyboard"
    assert not unseen, f"focus cannot be seen: {unseen}"
