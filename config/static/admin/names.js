// Names for what Django's scripts leave without one, for screen readers.
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
  for (const icon of document.querySelectorAll('.help-tooltip[aria-label]')) icon.setAttribute('role', 'img')
})
