#include "learn/grammar/token_trie.h"

#include <algorithm>
#include <numeric>

namespace hone {

TokenTrie::TokenTrie(int64_t count, const std::function<std::string_view(int32_t)>& bytes_of)
    : count_(count), ends_{0} {
  for (int32_t id = 0; id < count; ++id) {
    const std::string_view token = bytes_of(id);
    if (token.size() <= kLongest) all_ += token;
    ends_.push_back(all_.size());
  }
  ids_.resize(static_cast<size_t>(count));
  std::iota(ids_.begin(), ids_.end(), 0);
  std::erase_if(ids_, [&](int32_t id) { return bytes(id).empty(); });
  std::sort(ids_.begin(), ids_.end(), [&](int32_t a, int32_t b) {
    const int order = bytes(a).compare(bytes(b));
    return order < 0 || (order == 0 && a < b);
  });
  std::vector<size_t> open;  // nodes of the last token, by depth
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].end = static_cast<int32_t>(nodes_.size());
  };
  std::string_view last;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const std::string_view token = bytes(ids_[i]);
    const auto [a, b] = std::mismatch(last.begin(), last.end(), token.begin(), token.end());
    close(static_cast<size_t>(a - last.begin()));
    while (open.size() < token.size()) {
      const size_t depth = open.size();
      open.push_back(nodes_.size());
      nodes_.push_back({static_cast<uint8_t>(token[depth]), static_cast<uint16_t>(depth + 1), 0,
                        static_cast<int32_t>(i), static_cast<int32_t>(i)});
    }
    nodes_[open.back()].most = static_cast<int32_t>(i) + 1;
    last = token;
  }
  close(0);
}

}  // namespace hone
