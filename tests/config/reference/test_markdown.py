"""Descriptions as HTML."""

from config.reference.markdown import html, html_with_headings, inline


def test_headings_begin_at_the_level_of_their_place():
    assert html("# One\n\n### Two") == '<h2 id="one">One</h2>\n<h4>Two</h4>\n'
    assert "<h4" in html("# One", top=4)
    assert html("# One\n\n###### Deep", top=4).count("<h6") == 1


def test_the_highest_headings_can_be_linked_to():
    text, headings = html_with_headings("## Rate limits\n\nText\n\n### Not this\n\n## X-Filter")
    assert [(each.words, each.anchor) for each in headings] == [
        ("Rate limits", "rate-limits"),
        ("X-Filter", "x-filter"),
    ]
    assert 'id="rate-limits"' in text


def test_html_in_a_text_is_shown_and_not_obeyed():
    assert "&lt;script&gt;" in html("<script>alert(1)</script>")
    assert "<script" not in html("Text <script>alert(1)</script>\n\n<script>alert(1)</script>")
    assert "<b>" not in inline("<b>x</b>")
    assert "href" not in html("[x](javascript:alert(1))")


def test_tables_can_be_scrolled_by_keyboard():
    table = html("| a | b |\n|---|---|\n| 1 | 2 |")
    assert table.startswith('<div class="scroll" tabindex="0"><table>')
    assert table.rstrip().endswith("</table></div>")


def test_a_summary_has_no_paragraph():
    assert inline("With `backup_id`") == "With <code>backup_id</code>"
