#include "learn/check/row_faults.h"

#include <algorithm>

namespace hone {
namespace {

struct Told {
  FindingLevel level;
  const char* id;
  const char* what;
  const char* todo;
  double warns_from = 101;  // percent of the rows, of a note
};
constexpr Told kTold[] = {
#define ROW_FAULT(name, level, ...) {FindingLevel::level, __VA_ARGS__},
#include "learn/check/row_faults.def"
#undef ROW_FAULT
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

void RowFaults::note(RowFault fault, RowPlace place) {
  Seen& seen = seen_[static_cast<size_t>(fault)];
  if (seen.rows++ == 0) seen.first = place;
}

void RowFaults::look_at_text(std::string_view text, RowPlace place) {
  if (has(text, "\xEF\xBF\xBD")) note(RowFault::kReplacement, place);
  if (has(text, "\xC3\x83\xC2") || has(text, "\xC3\x82\xC2") || has(text, "\xC3\xA2\xE2\x82\xAC"))
    note(RowFault::kMojibake, place);
  if (has(text, "\r")) note(RowFault::kCarriageReturn, place);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F)
      return note(RowFault::kControl, place);
  }
}

void RowFaults::look_at_ids(std::span<const int32_t> ids, const Tokenizer* tokenizer, int64_t vocab,
                            bool pair, RowPlace place) {
  bool outside = false, unknown = false;
  int64_t special = 0;
  for (const int32_t id : ids) {
    outside = outside || id < 0 || id >= vocab;
    if (!tokenizer || id < 0 || id >= tokenizer->id_limit()) continue;
    const bool unk =
        id == tokenizer->unk_id() && id != tokenizer->eos_id() && id != tokenizer->bos_id();
    unknown = unknown || unk;
    special += tokenizer->is_special(id) && !unk;
  }
  if (outside) note(RowFault::kOutside, place);
  if (unknown) note(RowFault::kUnknown, place);
  if (!tokenizer) return;
  if (special > tokenizer->special_token_count(pair)) note(RowFault::kSpecial, place);
  if (ids.size() > 1 && ids[0] == ids[1] && tokenizer->is_special(ids[0]) &&
      tokenizer->special_token_count(pair) > 0)
    note(RowFault::kTwoStarts, place);
}

void RowFaults::look_at_end(std::span<const int32_t> ids, const Tokenizer& tokenizer, int32_t end,
                            RowPlace place) {
  int64_t ends = 0;
  const auto closes = [&](int32_t id) { return id == end || tokenizer.is_special(id); };
  for (size_t i = ids.size(); i > 0 && closes(ids[i - 1]); --i) ends += ids[i - 1] == end;
  if (ends == 0) note(RowFault::kNoEnd, place);
  if (ends > 1) note(RowFault::kTwoEnds, place);
}

double percent_of(int64_t rows, int64_t all) {
  return 100.0 * static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(all, 1));
}

void RowFaults::tell(const Telling& about, Findings& findings) const {
  const std::string split = about.side.empty() ? about.split : about.split + " " + about.side;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].rows == 0) continue;
    const Told& told = kTold[i];
    const double percent = percent_of(seen_[i].rows, about.rows);
    std::string id = told.id, todo = told.todo;
    if (i == static_cast<size_t>(RowFault::kLong)) todo = about.when_long;
    if (i == static_cast<size_t>(RowFault::kEmpty) && !about.when_empty.empty())
      todo = about.when_empty;
    if (const size_t at = id.find("rows"); at != std::string::npos && !about.side.empty())
      id.replace(at, 4, about.side);
    FindingLevel level = percent >= told.warns_from ? FindingLevel::kWarning : told.level;
    if (i == static_cast<size_t>(RowFault::kLong) && !about.cuts) level = told.level;
    if (i == static_cast<size_t>(RowFault::kNoLabel) && seen_[i].rows == about.rows)
      level = FindingLevel::kError;  // training stops
    findings.add(level, id,
                 fmt::format(fmt::runtime(told.what), split, seen_[i].rows, about.rows, percent,
                             about.limit),
                 "first " + about.where(seen_[i].first), todo);
  }
}

void tell_cut_rows(const std::string& split, int64_t cut, int64_t rows, int64_t limit,
                   const char* flag, Findings& findings) {
  if (cut == 0) return;
  const Told& told = kTold[static_cast<size_t>(RowFault::kLong)];
  const double percent = percent_of(cut, rows);
  findings.add(percent >= told.warns_from ? FindingLevel::kWarning : told.level, told.id,
               fmt::format(fmt::runtime(told.what), split, cut, rows, percent,
                           fmt::format("the {} that are kept", limit)),
               "", fmt::format("the rest is cut off: raise --{}", flag));
}

void tell_repeated(const RowTable& table, int64_t train_rows, int64_t eval_rows,
                   const std::function<std::string(RowPlace)>& where, const char* metric,
                   Findings& findings) {
  int64_t copies = 0, leaked = 0;
  RowPlace first, again, trained, validated;
  for (const auto& [hash, entry] : table.entries()) {
    const auto earlier = [](RowPlace a, RowPlace b) {
      return b.line == 0 || a.file < b.file || (a.file == b.file && a.line < b.line);
    };
    if (entry.count[0] > 1) {
      copies += entry.count[0] - 1;
      if (earlier(entry.again, again)) again = entry.again, first = entry.first[0];
    }
    if (entry.count[0] > 0 && entry.count[1] > 0) {
      leaked += entry.count[1];
      if (earlier(entry.first[1], validated)) validated = entry.first[1], trained = entry.first[0];
    }
  }
  const auto all = [&](int64_t n) {
    return static_cast<int64_t>(static_cast<double>(n) / table.share());
  };
  const char* about = table.share() < 1 ? "about " : "";
  if (copies > 0) {
    const double percent = percent_of(all(copies), train_rows);
    findings.add(percent >= 1 ? FindingLevel::kWarning : FindingLevel::kNote, "duplicate_rows",
                 fmt::format("train: {}{} of {} rows ({:.1f} %) are copies of rows before them",
                             about, all(copies), train_rows, percent),
                 fmt::format("first {}, as {}", where(again), where(first)),
                 "leave the copies out: the model learns them by heart");
  }
  if (leaked > 0) {
    findings.add(
        FindingLevel::kWarning, "leaked_rows",
        fmt::format("validation: {}{} of {} rows ({:.1f} %) are training rows too", about,
                    all(leaked), eval_rows, percent_of(all(leaked), eval_rows)),
        fmt::format("first {}, as {}", where(validated), where(trained)),
        fmt::format("take them out of one of the two: the validation {} is too good", metric));
  }
}

}  // namespace hone
