#include "learn/data/rows/labelled_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "learn/data/formats/errors.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"

namespace hone {
namespace {

// A batch of texts on their way to tokens.
struct LabelledBatch {
  std::vector<std::string> first, second;
  std::vector<RowOrigin> places;
  size_t bytes = 0;

  bool full() const { return first.size() >= kBatchRows || bytes >= kBatchBytes; }
  void clear() {
    first.clear(), second.clear(), places.clear();
    bytes = 0;
  }
};

void keep_texts(LabelledBatch& batch, std::vector<RowTexts>& texts) {
  for (size_t i = 0; i < batch.first.size(); ++i)
    texts.push_back({std::move(batch.first[i]),
                     batch.second.empty() ? std::string() : std::move(batch.second[i])});
}

Status encode_batch(const EncodeTexts& encode, const LabelledBatch& batch, LabelledText& out) {
  const std::vector<std::string_view> first(batch.first.begin(), batch.first.end()),
      second(batch.second.begin(), batch.second.end());
  EncodedTexts encoded;
  HONE_TRY(encode(first, second, encoded));
  HONE_BUG_IF(encoded.ids.size() != first.size(), "{} rows of {}", encoded.ids.size(),
              first.size());
  LabelledRows& data = out.data;
  std::vector<uint8_t>& all = data.labels.types;
  for (size_t i = 0; i < encoded.ids.size(); ++i) {
    const std::vector<int32_t>& ids = encoded.ids[i];
    const auto before = static_cast<size_t>(data.rows.tokens());
    data.rows.add(ids, batch.places[i]);
    out.counts.tokens += static_cast<int64_t>(ids.size());
    if (!encoded.cut.empty() && encoded.cut[i]) ++out.counts.rows_cut;
    if (encoded.type_ids.empty()) continue;
    const std::vector<int32_t>& types = encoded.type_ids[i];
    const bool any = std::any_of(types.begin(), types.end(), [](int32_t t) { return t != 0; });
    if (!any && all.empty()) continue;
    all.resize(before);
    all.insert(all.end(), types.begin(), types.end());
  }
  if (!all.empty()) all.resize(static_cast<size_t>(data.rows.tokens()));
  return Ok{};
}

void append_row(const LabelledRows& from, int64_t i, LabelledRows& to) {
  const auto k = static_cast<size_t>(i);
  const auto types = from.labels.types_of(from.rows, i);
  if (!types.empty() || !to.labels.types.empty()) {
    to.labels.types.resize(static_cast<size_t>(to.rows.tokens()));
    to.labels.types.insert(to.labels.types.end(), types.begin(), types.end());
  }
  to.rows.add_from(from.rows, i);
  if (!to.labels.types.empty()) to.labels.types.resize(static_cast<size_t>(to.rows.tokens()));
  const auto tags = from.labels.tags_of(from.rows, i);
  to.labels.tags.insert(to.labels.tags.end(), tags.begin(), tags.end());
  if (!from.labels.classes.empty()) to.labels.classes.push_back(from.labels.classes[k]);
  if (!from.labels.values.empty()) to.labels.values.push_back(from.labels.values[k]);
  if (!from.labels.sets.empty()) to.labels.sets.push_back(from.labels.sets[k]);
  if (!from.labels.texts.empty()) to.labels.texts.push_back(from.labels.texts[k]);
}

// The values of a list of labels.
std::vector<Cell> list_in(const Cell& cell) {
  std::vector<Cell> out;
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&cell))
    out.assign(whole->begin(), whole->end());
  if (const auto* texts = std::get_if<std::vector<std::string>>(&cell))
    out.assign(texts->begin(), texts->end());
  return out;
}

bool is_list(const Cell& cell) {
  const auto* raw = std::get_if<RawJson>(&cell);
  return std::holds_alternative<std::vector<int64_t>>(cell) ||
         std::holds_alternative<std::vector<std::string>>(cell) || (raw && raw->text == "[]");
}

Status add_label(const Row& row, size_t column, const std::string& name, LabelledText& out) {
  const bool list = column < row.cells.size() && is_list(row.cells[column]);
  const bool mixed = list ? !out.label.empty() : !out.label_sets.empty();
  if (mixed)
    return Error(err::kCellType, "some labels are lists, others are not")
        .at(fmt::format("{}, column '{}'", row.where(), name))
        .todo("write a list in every row, such as [\"sport\"]");
  if (!list) {
    out.label.push_back(HONE_TRY(out.seen.add(row, column, name)));
    return Ok{};
  }
  std::vector<int32_t>& set = out.label_sets.emplace_back();
  for (const Cell& value : list_in(row.cells[column]))
    set.push_back(HONE_TRY(out.seen.add(value, row, name)));
  return Ok{};
}

// The part of `all`, which is by token, that belongs to row i.
template <class T>
std::span<const T> of_row(const std::vector<T>& all, const TokenRows& rows, int64_t i) {
  if (all.empty()) return {};
  const std::span<const int32_t> row = rows.row(i);
  return std::span(all).subspan(static_cast<size_t>(row.data() - rows.row(0).data()), row.size());
}

}  // namespace

std::span<const uint8_t> RowLabels::types_of(const TokenRows& rows, int64_t i) const {
  return of_row(types, rows, i);
}

std::span<const int32_t> RowLabels::tags_of(const TokenRows& rows, int64_t i) const {
  return of_row(tags, rows, i);
}

void LabelledRows::keep_first(int64_t count) {
  rows.keep_first(count);
  if (!labels.types.empty()) labels.types.resize(static_cast<size_t>(rows.tokens()));
  if (!labels.tags.empty()) labels.tags.resize(static_cast<size_t>(rows.tokens()));
  const auto n = static_cast<size_t>(rows.size());
  if (!labels.classes.empty()) labels.classes.resize(n);
  if (!labels.values.empty()) labels.values.resize(n);
  if (!labels.sets.empty()) labels.sets.resize(n);
  if (!labels.texts.empty()) labels.texts.resize(n);
}

void LabelledRows::append(const LabelledRows& from, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) append_row(from, i, *this);
}

uint64_t LabelledRows::hash() const {
  RowsHash hash(rows.hash());
  hash.add(labels.classes);
  std::vector<int32_t> bits(labels.types.begin(), labels.types.end());
  hash.add(bits);
  bits.clear();
  for (const float v : labels.values) bits.push_back(std::bit_cast<int32_t>(v));
  hash.add(bits);
  if (!labels.tags.empty()) hash.add(labels.tags);
  for (const std::vector<int32_t>& set : labels.sets) hash.add(set);
  return hash.value();
}

Result<LabelledText> read_labelled(LabelReader& reader, const LabelColumnOptions& wanted,
                                   const EncodeTexts& encode, int64_t limit) {
  const LabelColumns& columns = reader.columns;
  const std::vector<std::string>& names = reader.rows->columns();
  const bool labels = wanted.label && columns.label;
  LabelledText out;
  LabelledBatch batch;
  Row row;
  const auto text_of = [&](size_t column) -> Result<std::string> {
    const std::string_view text = HONE_TRY(cell_text(row, column, names[column]));
    if (text.empty())
      return Error(err::kEmptyField, "the text is empty")
          .at(fmt::format("{}, column '{}'", row.where(), names[column]))
          .todo("give it a text, or take the row out");
    return std::string(text);
  };
  while (out.counts.rows_read < limit && HONE_TRY(reader.rows->next(row))) {
    const auto lacks = [&](size_t c) {
      return c >= row.cells.size() || std::holds_alternative<std::monostate>(row.cells[c]);
    };
    // Lines of GLUE's files that were torn; the data set `glue` leaves them out too.
    if (wanted.task && (lacks(columns.first) || (columns.second && lacks(*columns.second)) ||
                        (labels && lacks(*columns.label)))) {
      ++out.counts.rows_broken;
      continue;
    }
    ++out.counts.rows_read;
    batch.first.push_back(HONE_TRY(text_of(columns.first)));
    for (const size_t more : columns.joined)
      batch.first.back() += *wanted.delimiter + HONE_TRY(text_of(more));
    batch.places.push_back(out.data.rows.place_in(row.file, row.line, row.line_is_row));
    batch.bytes += batch.first.back().size();
    if (columns.second) {
      batch.second.push_back(HONE_TRY(text_of(*columns.second)));
      batch.bytes += batch.second.back().size();
    }
    if (labels) HONE_TRY(add_label(row, *columns.label, names[*columns.label], out));
    if (!batch.full()) continue;
    HONE_TRY(encode_batch(encode, batch, out));
    if (wanted.keep_texts) keep_texts(batch, out.data.labels.texts);
    batch.clear();
  }
  HONE_TRY(encode_batch(encode, batch, out));
  if (wanted.keep_texts) keep_texts(batch, out.data.labels.texts);
  out.data.rows.shrink();
  return out;
}

Status number_labels(LabelledText& text, const LabelMap& map, const std::string& split) {
  LabelledRows& data = text.data;
  RowLabels& labels = data.labels;
  std::vector<bool> keep;
  if (map.many) {
    const std::vector<int32_t> ids = HONE_TRY(class_ids(text.seen, map));
    for (const std::vector<int32_t>& seen : text.label_sets) {
      std::vector<int32_t>& set = labels.sets.emplace_back();
      for (const int32_t label : seen) set.push_back(ids[static_cast<size_t>(label)]);
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      keep.push_back(set.empty() || set[0] >= 0);
    }
    text.label_sets.clear();
  } else if (map.regression) {
    const std::vector<float> values = HONE_TRY(label_values(text.seen));
    for (const int32_t label : text.label) {
      labels.values.push_back(values[static_cast<size_t>(label)]);
      keep.push_back(!std::isnan(labels.values.back()));
    }
  } else {
    const std::vector<int32_t> ids = HONE_TRY(class_ids(text.seen, map));
    for (const int32_t label : text.label) {
      labels.classes.push_back(ids[static_cast<size_t>(label)]);
      keep.push_back(labels.classes.back() >= 0);
    }
  }
  text.label.clear();
  text.label.shrink_to_fit();
  text.counts.rows_unlabelled = std::count(keep.begin(), keep.end(), false);
  if (text.counts.rows_unlabelled > 0) {
    LabelledRows kept;
    for (int64_t i = 0; i < data.size(); ++i)
      if (keep[static_cast<size_t>(i)]) append_row(data, i, kept);
    data = std::move(kept);
  }
  if (data.size() == 0)
    return Error(err::kNoRows, fmt::format("no row of the {} data has a label", split))
        .todo("rows labelled - or -1 are left out: GLUE's test files have no labels");
  return Ok{};
}

std::string describe(const LabelCounts& c, int64_t rows, int64_t max_length) {
  std::string text = fmt::format("{} -> {}, at most {} a row", count_of(rows, "row"),
                                 count_of(c.tokens, "token"), grouped(max_length));
  if (c.rows_cut > 0)
    text += fmt::format("; {} ({:.1f} %) cut", count_of(c.rows_cut, "row"),
                        100.0 * static_cast<double>(c.rows_cut) /
                            static_cast<double>(std::max<int64_t>(c.rows_read, 1)));
  if (c.rows_unlabelled > 0)
    text += fmt::format("; {} without label left out", count_of(c.rows_unlabelled, "row"));
  if (c.rows_broken > 0)
    text += fmt::format("; {} without all columns left out", count_of(c.rows_broken, "line"));
  return text;
}

}  // namespace hone
