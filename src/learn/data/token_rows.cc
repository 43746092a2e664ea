#include "learn/data/token_rows.h"

#include <algorithm>

#include "learn/data/formats/errors.h"

namespace hone {

void TokenRows::add(std::span<const int32_t> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  offsets_.push_back(static_cast<int64_t>(ids_.size()));
}

void TokenRows::keep_first(int64_t rows) {
  if (rows >= size()) return;
  offsets_.resize(static_cast<size_t>(rows) + 1);
  ids_.resize(static_cast<size_t>(offsets_.back()));
}

int64_t TokenRows::memory_bytes() const {
  return static_cast<int64_t>(ids_.capacity() * sizeof(int32_t) +
                              offsets_.capacity() * sizeof(int64_t));
}

void CausalBuilder::add(std::span<const int32_t> ids) {
  ++counts_.rows_read;
  counts_.tokens_read += static_cast<int64_t>(ids.size());
  const auto block = static_cast<size_t>(options_.block_size);
  if (options_.grouping == Grouping::kBlocks) {
    pending_.insert(pending_.end(), ids.begin(), ids.end());
    size_t begin = 0;
    for (; pending_.size() - begin >= block; begin += block) {
      out_.add({pending_.data() + begin, block});
      ++counts_.rows_kept;
      counts_.tokens_kept += options_.block_size;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(begin));
    if (++group_rows_ == kGroupRows) close_group();
    return;
  }
  pending_.assign(ids.begin(), ids.end());
  const bool append = options_.eos && (pending_.empty() || pending_.back() != *options_.eos);
  if (append) pending_.push_back(*options_.eos);
  if (pending_.size() > block) {
    // A text that was cut did not end, so the EOS falls off with the rest.
    ++counts_.rows_cut;
    counts_.tokens_dropped += static_cast<int64_t>(pending_.size() - block) - (append ? 1 : 0);
    pending_.resize(block);
  } else if (append && pending_.size() >= 2) {
    ++counts_.eos_appended;
  }
  if (pending_.size() < 2) {
    ++counts_.rows_too_short;
    counts_.tokens_dropped += static_cast<int64_t>(ids.size());
    return;
  }
  out_.add(pending_);
  ++counts_.rows_kept;
  counts_.tokens_kept += static_cast<int64_t>(pending_.size());
}

void CausalBuilder::close_group() {
  counts_.tokens_dropped += static_cast<int64_t>(pending_.size());
  pending_.clear();
  group_rows_ = 0;
}

void CausalBuilder::finish() {
  if (options_.grouping == Grouping::kBlocks) close_group();
}

Result<CausalData> read_causal(RowReader& rows, const CausalOptions& options,
                               const Tokenize& tokenize) {
  HONE_BUG_IF(options.block_size < 2, "block_size {}", options.block_size);
  constexpr size_t kCallRows = 1000, kCallBytes = 8 << 20;
  CausalData data;
  CausalBuilder builder(options, data.rows);
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<std::vector<int32_t>> ids;
  size_t bytes = 0;
  const auto flush = [&]() -> Status {
    views.assign(texts.begin(), texts.end());
    ids.clear();
    if (!views.empty()) HONE_TRY(tokenize(views, ids));
    HONE_BUG_IF(ids.size() != views.size(), "{} rows of ids for {} texts", ids.size(),
                views.size());
    for (const auto& row : ids) builder.add(row);
    texts.clear();
    bytes = 0;
    return Ok{};
  };
  Row row;
  std::vector<int32_t> given;
  for (int64_t i = 0; i < options.end_row && HONE_TRY(rows.next(row)); ++i) {
    if (i < options.first_row) continue;
    if (options.column >= row.cells.size()) row.cells.resize(options.column + 1);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&row.cells[options.column])) {
      HONE_TRY(flush());
      given.assign(list->begin(), list->end());
      builder.add(given);
      continue;
    }
    HONE_TRY(cell_text(row, options.column, rows.columns()[options.column]));
    if (auto* text = std::get_if<std::string>(&row.cells[options.column])) {
      bytes += text->size();
      texts.push_back(std::move(*text));
    } else {
      texts.emplace_back();
    }
    if (texts.size() == kCallRows || bytes >= kCallBytes) HONE_TRY(flush());
  }
  HONE_TRY(flush());
  builder.finish();
  data.counts = builder.counts();
  data.rows.shrink();
  if (data.counts.rows_read == 0)
    return Error(err::kNoRows, "the data has no rows").todo("check the file");
  if (data.rows.size() == 0) {
    if (options.grouping == Grouping::kRows) {
      return Error(err::kNoRows,
                   fmt::format("none of the {} rows has two tokens or more", data.counts.rows_read))
          .todo("check that the column holds the text");
    }
    return Error(err::kBlockTooBig,
                 fmt::format("{} tokens in {} rows do not fill one block of {}",
                             data.counts.tokens_read, data.counts.rows_read, options.block_size))
        .todo(data.counts.tokens_read < 2
                  ? "give more text"
                  : fmt::format("use --block_size {} or less, or --packing, or give more text",
                                std::min(data.counts.tokens_read, options.block_size - 1)));
  }
  return data;
}

}  // namespace hone
