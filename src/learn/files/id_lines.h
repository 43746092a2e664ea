// Rows of ids as lines of JSON: {"ids":[5,6]}, or {"ids":[5,6],"token_type_ids":[0,0]}. No id is
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
  explicit IdLines(int64_t id_limit);  // largest id + 1; the text of each id is made once
  void append(std::span<const int32_t> ids, std::string& out) const;
  void append(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
              std::string& out) const;

 private:
  void append_numbers(std::string_view head, std::span<const int32_t> numbers,
                      std::string& out) const;

  // The numbers from 0 on, each with a comma: seven characters at most, their count in the highest
  // byte.
  std::vector<uint64_t> spelled_;
};

}  // namespace hone
