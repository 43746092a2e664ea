// One file of token rows: an Arrow IPC stream of one batch with the column input_ids, a list of
// int32, that any Arrow reader reads and that can be mapped and used in place.
//
//   schema message | batch message | offsets int32[rows + 1] | ids int32[tokens] | end mark
#pragma once

#include <string>

#include "base/core/error.h"
#include "learn/data/token_rows.h"

namespace hone {

// Where the arrays lie; both places are multiples of 64.
struct ShardFile {
  std::string file;  // name in its folder
  int64_t rows = 0, tokens = 0;
  int64_t bytes = 0;  // of the file
  int64_t offsets_at = 0, ids_at = 0;
  bool operator==(const ShardFile&) const = default;
};

// Rows [begin, end) of `rows`; fewer than 2^31 tokens. The same rows give the same bytes.
std::string shard_bytes(const TokenRows& rows, int64_t begin, int64_t end, ShardFile& shard);

// Maps the file, read only, and checks that the arrays lie in it and that the offsets ascend.
// Errors: H2132, H0117.
Result<RowsView> map_shard(const std::string& folder, const ShardFile& shard);

}  // namespace hone
