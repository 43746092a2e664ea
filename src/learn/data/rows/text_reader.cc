#include "learn/data/rows/text_reader.h"

#include <algorithm>

#include "learn/data/formats/errors.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"

namespace hone {

Json TextPosition::to_json() const {
  const TextCounts& c = state.counts;
  return {{"at", {at.file, at.offset, at.line, at.row, at.column}},
          {"rows", rows},
          {"ended", ended},
          {"counts",
           {c.rows_read, c.tokens_read, c.rows_kept, c.tokens_kept, c.tokens_dropped, c.rows_cut,
            c.rows_too_short, c.eos_appended}},
          {"group_rows", state.group_rows},
          {"pending", state.pending}};
}

Result<TextPosition> position_from_json(const Json& json, const std::string& name) {
  TextPosition p;
  try {
    const auto at = json.at("at").get<std::vector<int64_t>>();
    const auto c = json.at("counts").get<std::vector<int64_t>>();
    p.rows = json.at("rows").get<int64_t>();
    p.ended = json.at("ended").get<bool>();
    p.state.group_rows = json.at("group_rows").get<int64_t>();
    p.state.pending = json.at("pending").get<std::vector<int32_t>>();
    const bool has_column = at.size() == 5;  // checkpoints of older versions have none
    if ((at.size() == 4 || has_column) && c.size() == 8 && at[0] >= 0 && at[1] >= 0 &&
        p.rows >= 0) {
      p.at = {at[0], at[1], at[2], at[3], has_column ? at[4] : 1};
      p.state.counts = {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]};
      return p;
    }
  } catch (const Json::exception&) {
  }
  return Error(err::kDataRead, "there is no position in the data to continue from").at(name);
}

Status check_some_rows(const TextCounts& c, const TextOptions& options, int64_t kept) {
  if (c.rows_read == 0) return Error(err::kNoRows, "the data has no rows").todo("check the file");
  if (kept > 0) return Ok{};
  if (options.grouping == Grouping::kRows)
    return Error(err::kNoRows,
                 c.rows_read == 1
                     ? "the one row has fewer than two tokens"
                     : fmt::format("none of the {} rows has two tokens or more", c.rows_read))
        .todo("check that the column holds the text");
  return Error(err::kBlockTooBig,
               fmt::format("{} in {} do not fill one block of {}", count_of(c.tokens_read, "token"),
                           count_of(c.rows_read, "row"), options.block_size))
      .todo(c.tokens_read < 2
                ? "give more text"
                : fmt::format("use {} {} or less, or {}, or give more text", options.block_name,
                              std::min(c.tokens_read, options.block_size - 1), options.apart_name));
}

TextReader::TextReader(std::unique_ptr<RowReader> rows, const TextOptions& options,
                       Tokenize tokenize)
    : reader_(std::move(rows)),
      options_(options),
      tokenize_(std::move(tokenize)),
      builder_(options) {
  HONE_BUG_IF(options.block_size < 2, "block_size {}", options.block_size);
  reader_->read_only({options_.column});
}

Status TextReader::flush(TokenRows& out) {
  if (texts_.empty()) return Ok{};
  const std::vector<std::string_view> views(texts_.begin(), texts_.end());
  std::vector<std::vector<int32_t>> ids;
  HONE_TRY(tokenize_(views, ids));
  HONE_BUG_IF(ids.size() != views.size(), "{} rows of ids for {} texts", ids.size(), views.size());
  for (size_t i = 0; i < ids.size(); ++i) builder_.add(ids[i], out, places_[i]);
  texts_.clear();
  places_.clear();
  return Ok{};
}

Result<bool> TextReader::read(TokenRows& out) {
  if (ended_) return false;
  size_t bytes = 0;
  Row row;
  std::vector<int32_t> given;
  for (size_t in_batch = 0; in_batch < kBatchRows && bytes < kBatchBytes;) {
    if (rows_ == options_.end_row || !HONE_TRY(reader_->next(row))) {
      ended_ = true;
      break;
    }
    if (rows_++ < options_.first_row) continue;
    ++in_batch;
    if (options_.column >= row.cells.size()) row.cells.resize(options_.column + 1);
    Cell& cell = row.cells[options_.column];
    if (const auto* list = std::get_if<std::vector<int64_t>>(&cell)) {
      HONE_TRY(flush(out));
      given.clear();  // ids that no model has stay such in 32 bits
      for (const int64_t id : *list)
        given.push_back(static_cast<int32_t>(std::clamp<int64_t>(id, -1, INT32_MAX)));
      bytes += given.size() * sizeof(given[0]);
      builder_.add(given, out, out.place_in(row.file, row.line, row.line_is_row));
      continue;
    }
    HONE_TRY(cell_text(row, options_.column, reader_->columns()[options_.column]));
    auto* text = std::get_if<std::string>(&cell);
    texts_.push_back(text ? std::move(*text) : std::string());
    places_.push_back(out.place_in(row.file, row.line, row.line_is_row));
    bytes += texts_.back().size();
  }
  HONE_TRY(flush(out));
  if (ended_) builder_.finish();
  return true;
}

TextPosition TextReader::place() const {
  return {reader_->position(), rows_, ended_, builder_.state()};
}

Status TextReader::seek(const TextPosition& place) {
  HONE_TRY(reader_->seek(place.at));
  rows_ = place.rows;
  ended_ = place.ended;
  builder_.set_state(place.state);
  texts_.clear();
  places_.clear();
  return Ok{};
}

Result<TextData> read_text_rows(std::unique_ptr<RowReader> rows, const TextOptions& options,
                                const Tokenize& tokenize) {
  TextData data;
  TextReader reader(std::move(rows), options, tokenize);
  while (HONE_TRY(reader.read(data.rows))) continue;
  data.counts = reader.counts();
  data.rows.shrink();
  HONE_TRY(reader.check_some(data.rows.size()));
  return data;
}

}  // namespace hone
