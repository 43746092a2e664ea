#include "learn/check/fix_text.h"

#include "base/core/text.h"

namespace hone {
namespace {

// UTF-16 that check_not_utf16 recognises, or UTF-8. Errors: H2108 of UTF-32.
Result<Charset> guess(std::string_view head, const std::string& file) {
  Status status = check_not_utf16(head, file);
  if (status.ok()) return Charset::kUtf8;
  if (is_utf32(head)) return std::move(status.error());
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return Charset::kUtf16;
  return head.size() > 1 && head[0] == '\0' ? Charset::kUtf16Be : Charset::kUtf16Le;
}

// The line with every byte that is not UTF-8 replaced.
std::string repaired(std::string_view line, const ByteReader& in, int64_t number,
                     FixReport& report) {
  std::string out;
  for (int64_t column = 1;;) {
    const size_t bad = find_bad_utf8(line);
    if (bad == std::string_view::npos) return out.append(line);
    out.append(line.substr(0, bad));
    const char32_t c = cp1252_character(static_cast<unsigned char>(line[bad]));
    append_utf8(out, c ? c : 0xFFFD);
    ++(c ? report.repaired : report.lost);
    column += static_cast<int64_t>(bad);
    if (report.places.size() < 5) report.places.push_back(in.place(number, column));
    ++column;
    line.remove_prefix(bad + 1);
  }
}

}  // namespace

Result<FixReport> fix_text(const std::string& from, const std::string& to, Charset encoding) {
  FixReport report;
  std::unique_ptr<Source> source = HONE_TRY(open_file_source(from));
  const Source* file = source.get();
  source = HONE_TRY(unpacked(std::move(source)));
  report.unpacked = source.get() != file;
  if (encoding == Charset::kUtf8) encoding = HONE_TRY(guess(HONE_TRY(source->head()), from));
  report.encoding = encoding_name(encoding);

  ByteReader in(as_utf8(std::move(source), encoding));
  in.skip_bom();
  report.byte_order_mark = in.offset() > 0;
  std::unique_ptr<Writer> out = HONE_TRY(file_store().create(to));
  std::string line;
  for (bool more = true; more;) {
    const int64_t number = in.line();
    line.clear();
    more = in.take_until('\n', line);
    if (more) line += static_cast<char>(in.get());
    HONE_TRY(in.status());
    HONE_TRY(out->write(repaired(line, in, number, report)));
  }
  HONE_TRY(out->commit());
  return report;
}

}  // namespace hone
