// From a reader of text rows to token rows, a batch at a time, so that it can stop between batches
// and continue later from a saved place, with the same rows.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/data/token_rows.h"

namespace hone {

// ids[i] becomes the tokens of texts[i], with the special tokens that the tokenizer adds.
using Tokenize = std::function<Status(std::span<const std::string_view> texts,
                                      std::vector<std::vector<int32_t>>& ids)>;

// Where the next batch begins.
struct CausalPlace {
  RowPosition at;    // of the reader
  int64_t rows = 0;  // that it gave, with those before CausalOptions::first_row
  bool ended = false;
  CausalState state;

  Json to_json() const;
};
// `name` (a file) appears in messages. Errors: H2102.
Result<CausalPlace> place_from_json(const Json& json, const std::string& name);

class CausalReader {
 public:
  CausalReader(std::unique_ptr<RowReader> rows, const CausalOptions& options, Tokenize tokenize);

  // Appends to `out` the rows that the next batch completes (about 1,000 rows of text or 8 MiB),
  // perhaps none; false when there is no next batch. The size of a batch changes no row.
  // Errors: those of the reader and of `tokenize`, H2110.
  Result<bool> read(TokenRows& out);

  CausalPlace place() const;
  Status go_to(const CausalPlace& place);
  const CausalCounts& counts() const { return builder_.state().counts; }
  // When `kept` rows came of all: H2113 without rows, H2114 when not even one block came out.
  Status check_some(int64_t kept) const;

 private:
  Status flush(TokenRows& out);

  std::unique_ptr<RowReader> reader_;
  CausalOptions options_;
  Tokenize tokenize_;
  CausalBuilder builder_;
  int64_t rows_ = 0;
  bool ended_ = false;
  std::vector<std::string> texts_;  // of the batch
};

struct CausalData {
  TokenRows rows;
  CausalCounts counts;
};

// All rows at once. Errors: those of CausalReader.
Result<CausalData> read_causal(std::unique_ptr<RowReader> rows, const CausalOptions& options,
                               const Tokenize& tokenize);

}  // namespace hone
