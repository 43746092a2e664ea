// .txt: a row is a line, a paragraph (text between blank lines) or the whole file; one column
// `text`. Semantics of lines and paragraphs: the text builder of the `datasets` library
// (universal newlines; paragraphs are split at LF LF, empty ones dropped).
#include <algorithm>

#include "learn/data/formats/text_row_reader.h"

namespace hone {
namespace {

class LineReader final : public TextRowReader {
 public:
  LineReader(std::unique_ptr<Source> source, const RowOptions& options)
      : TextRowReader(ByteReader(std::move(source))), options_(options) {
    columns_ = {"text"};
  }

 private:
  Result<bool> read_row(Row& row) override {
    const int64_t line = in_.line(), column = in_.column();
    std::string text;
    const bool more = options_.sample_by == SampleBy::kDocument    ? document(text)
                      : options_.sample_by == SampleBy::kParagraph ? paragraph(text)
                                                                   : one_line(text);
    HONE_TRY(in_.status());
    if (!more) return false;
    HONE_TRY(check_utf8(text, in_.name(), line, column));
    row.cells.assign(1, Cell(std::move(text)));
    return true;
  }

  // Appends a line with its break as LF; false when nothing is left. CR LF and CR are breaks.
  bool read_line(std::string& text) {
    if (in_.peek() == ByteReader::kEnd) return false;
    for (int c; (c = in_.get()) != ByteReader::kEnd;) {
      if (c == '\r') {
        if (in_.peek() == '\n') in_.get();
        c = '\n';
      }
      text += static_cast<char>(c);
      if (c == '\n') break;
    }
    return true;
  }
  bool one_line(std::string& text) {
    if (!read_line(text)) return false;
    if (!options_.keep_linebreaks && text.ends_with('\n')) text.pop_back();
    return true;
  }
  // The pieces that splitting at LF LF gives: of three LFs in a row the third begins the next.
  bool paragraph(std::string& text) {
    for (;;) {
      while (!text.ends_with("\n\n")) {
        if (!read_line(text)) return !text.empty();
      }
      text.resize(text.size() - 2);
      if (!text.empty()) return true;
    }
  }
  bool document(std::string& text) {
    if (in_.peek() == ByteReader::kEnd) return false;
    while (in_.peek() != ByteReader::kEnd) {
      in_.take_until('\0', text);
      if (const int c = in_.get(); c != ByteReader::kEnd) text += static_cast<char>(c);
    }
    return true;
  }

  RowOptions options_;
};

Result<std::unique_ptr<RowReader>> open_text(std::unique_ptr<Source> source,
                                             const RowOptions& options) {
  return std::unique_ptr<RowReader>(std::make_unique<LineReader>(std::move(source), options));
}

}  // namespace

Format format_text() {
  return {"text", {"txt", "text"}, "a row is a line, a paragraph or the document", open_text, true};
}

}  // namespace hone
