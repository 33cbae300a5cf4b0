// Names for what Django's scripts leave without one, for screen readers, and for the cells of lists on phones.
window.addEventListener('load', () => {
  // jQuery runs what waits for the page in order, so the boxes are there when it runs this.
  const whenReady = window.django?.jQuery ?? (run => run())
  whenReady(() => {
    for (const select of document.querySelectorAll('select.admin-autocomplete')) {
      const label = select.labels[0]
      const box = select.nextElementSibling?.querySelector('.select2-selection')
      if (!label || !box) continue
      const text = box.querySelector('.select2-selection__rendered')
      label.id ||= `${select.id}-label`
      box.setAttribute('aria-labelledby', `${label.id} ${text.id}`)
      text.setAttribute('aria-labelledby', label.id)
    }
  })
  for (const list of document.querySelectorAll('#result_list')) {
    const titles = [...list.tHead.rows[0].cells].map(cell => cell.querySelector('.text')?.textContent.trim() ?? '')
    for (const row of list.tBodies[0].rows)
      [...row.cells].forEach((cell, place) => { if (titles[place]) cell.dataset.label = titles[place] })
    list.classList.add('labelled')
  }
  for (const icon of document.querySelectorAll('.help-tooltip[aria-label]')) icon.setAttribute('role', 'img')
})
