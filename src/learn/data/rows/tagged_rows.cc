#include "learn/data/rows/tagged_rows.h"

#include <algorithm>

#include "learn/data/formats/errors.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

Error wrong_cell(const Row& row, size_t column, const std::string& name, const char* needed) {
  return Error(err::kCellType, fmt::format("column '{}' holds {} where {} is needed", name,
                                           cell_type_name(row.cells[column]), needed))
      .at(fmt::format("{}, column '{}'", row.where(), name))
      .todo(
          "a row is a list of words with as many labels: {\"tokens\": [\"in\", \"Paris\"], "
          "\"ner_tags\": [\"O\", \"B-LOC\"]}; other columns are named by `text_column_name` and "
          "`label_column_name`");
}

bool is_empty_list(const Cell& cell) {
  const auto* numbers = std::get_if<std::vector<int64_t>>(&cell);
  return numbers && numbers->empty();
}

// A batch of rows on their way to tokens.
class TaggedBatch {
 public:
  TaggedBatch(TaggedText& out, const EncodeWords& encode, bool all_tokens)
      : out_(out), encode_(encode), all_tokens_(all_tokens) {}

  Status add(std::vector<std::string> words, std::vector<int32_t> labels, const Row& from) {
    places_.push_back(out_.data.rows.place_in(from.file, from.line, from.line_is_row));
    words_.push_back(std::move(words));
    labels_.push_back(std::move(labels));
    return words_.size() < kBatchRows ? Status(Ok{}) : flush();
  }

  Status flush() {
    std::vector<EncodedWords> encoded(words_.size());
    HONE_TRY(encode_(words_, encoded));
    std::vector<int32_t>& tags = out_.data.labels.tags;
    for (size_t i = 0; i < encoded.size(); ++i) {
      const EncodedWords& row = encoded[i];
      out_.data.rows.add(row.ids, places_[i]);
      out_.counts.tokens += static_cast<int64_t>(row.ids.size());
      out_.counts.rows_cut += row.cut;
      int32_t before = -1;
      for (const int32_t word : row.word) {
        const bool first = word != before;
        before = word;
        const bool counts = word >= 0 && (first || all_tokens_);
        tags.push_back(counts ? labels_[i][static_cast<size_t>(word)] : kIgnoreLabel);
        out_.inside.push_back(counts && !first);
      }
    }
    words_.clear();
    labels_.clear();
    places_.clear();
    return Ok{};
  }

 private:
  TaggedText& out_;
  const EncodeWords& encode_;
  bool all_tokens_;
  std::vector<std::vector<std::string>> words_;
  std::vector<std::vector<int32_t>> labels_;  // numbers of SeenLabels
  std::vector<RowOrigin> places_;
};

Result<std::vector<int32_t>> labels_of(const Row& row, size_t column, const std::string& name,
                                       SeenLabels& seen) {
  const Cell& cell = row.cells[column];
  std::vector<int32_t> labels;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&cell)) {
    for (const std::string& text : *texts)
      labels.push_back(HONE_TRY(seen.add(Cell(text), row, name)));
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&cell)) {
    for (const int64_t number : *numbers)
      labels.push_back(number == kIgnoreLabel ? kIgnoreLabel
                                              : HONE_TRY(seen.add(Cell(number), row, name)));
  } else {
    return wrong_cell(row, column, name, "a list of labels");
  }
  return labels;
}

}  // namespace

Result<TaggedText> read_tagged(const std::vector<std::string>& files, const RowOptions& options,
                               const TagColumns& wanted, const EncodeWords& encode,
                               bool all_tokens) {
  const auto rows = HONE_TRY(open_rows(files, options));
  Row row;
  bool more = HONE_TRY(rows->next(row));
  if (!more) return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const std::vector<std::string>& names = rows->columns();
  TaggedText out;
  const auto column = [&](const std::string& asked, const std::string& usual, size_t otherwise,
                          bool needed) -> Result<std::optional<size_t>> {
    const auto at = place_of(names, asked.empty() ? usual : asked);
    if (at) return at;
    if (!asked.empty() && needed) return no_column(names, asked, "", std::string(row.file));
    if (asked.empty() && otherwise < names.size()) return std::optional(otherwise);
    if (needed)
      return no_column(names, usual, ", which holds the labels of the words",
                       std::string(row.file));
    return std::optional<size_t>();
  };
  const size_t words = *HONE_TRY(column(wanted.words, "tokens", 0, true));
  const auto tags = HONE_TRY(column(wanted.tags, wanted.task + "_tags", 1, wanted.need_tags));
  out.words = names[words];
  out.tagged = tags.has_value();
  if (tags) out.tags = names[*tags];
  TaggedBatch batch(out, encode, all_tokens);
  for (; more; more = HONE_TRY(rows->next(row))) {
    row.cells.resize(std::max(row.cells.size(), names.size()));
    std::vector<std::string> texts;
    if (auto* list = std::get_if<std::vector<std::string>>(&row.cells[words]))
      texts = std::move(*list);
    else if (!is_empty_list(row.cells[words]))
      return wrong_cell(row, words, out.words, "a list of words");
    std::vector<int32_t> labels(texts.size());
    if (tags) {
      labels = HONE_TRY(labels_of(row, *tags, out.tags, out.seen));
      if (labels.size() != texts.size())
        return Error(err::kEmptyField,
                     fmt::format("{} words have {} labels", texts.size(), labels.size()))
            .at(fmt::format("{}, columns '{}' and '{}'", row.where(), out.words, out.tags))
            .todo("give each word one label, or take the row out");
    }
    ++out.counts.rows_read;
    HONE_TRY(batch.add(std::move(texts), std::move(labels), row));
  }
  HONE_TRY(batch.flush());
  out.data.rows.shrink();
  const LabelNames of_file = rows->label_names();
  if (const auto at = of_file.find(out.tags); at != of_file.end()) out.names = at->second;
  return out;
}

Status number_tags(TaggedText& text, const LabelMap& map) {
  const std::vector<int32_t> ids = HONE_TRY(class_ids(text.seen, map));
  std::vector<int32_t> inside;  // by class
  for (size_t i = 0; i < map.names.size(); ++i) {
    inside.push_back(static_cast<int32_t>(i));
    if (!map.names[i].starts_with("B-")) continue;
    const auto at = std::find(map.names.begin(), map.names.end(), "I" + map.names[i].substr(1));
    if (at != map.names.end()) inside[i] = static_cast<int32_t>(at - map.names.begin());
  }
  std::vector<int32_t>& tags = text.data.labels.tags;
  for (size_t t = 0; t < tags.size(); ++t) {
    if (tags[t] == kIgnoreLabel) continue;
    const int32_t id = ids[static_cast<size_t>(tags[t])];
    tags[t] = id < 0 ? kIgnoreLabel : text.inside[t] ? inside[static_cast<size_t>(id)] : id;
  }
  return Ok{};
}

}  // namespace hone
