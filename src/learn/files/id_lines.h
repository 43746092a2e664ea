// Writes rows of token ids as lines of JSON: {"ids":[5,6]}, or {"ids":[5,6],"token_type_ids":[0,0]}. Ids must not be
// negative.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class IdLines {
 public:
  // `id_limit` is the largest id plus 1. The decimal text of each id is computed here, once.
  explicit IdLines(int64_t id_limit);
  // Append a line, with its line break, to `out`.
  void append(std::span<const int32_t> ids, std::string& out) const;
  void append(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
              std::string& out) const;

 private:
  void append_numbers(std::string_view head, std::span<const int32_t> numbers,
                      std::string& out) const;

  // The bytes of spelled_[i], from the lowest on, are the digits of i and a comma: at most 7 characters. The highest
  // byte is the number of these characters.
  std::vector<uint64_t> spelled_;
};

}  // namespace hone
