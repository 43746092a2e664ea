// The tokens of a vocabulary by their bytes, as a trie whose nodes are stored in preorder. So a walk over the trie can
// skip a branch by a jump to the end of the branch. Build the trie once for a tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class TokenTrie {
 public:
  struct Node {
    uint8_t byte;
    uint16_t depth;  // number of bytes up to this node; 1: the first byte of a token
    int32_t end;     // the index of the first node after the branch of this node
    // For ids(): the tokens that end at this node are ids_[tokens] to ids_[most - 1].
    int32_t tokens, most;
  };
  // Largest number of bytes of a token; longer tokens are left out.
  static constexpr size_t kLongest = 256;

  // `count` is the number of token ids. `bytes_of` returns the bytes that a token adds to a text; "": the token is left
  // out.
  TokenTrie(int64_t count, const std::function<std::string_view(int32_t)>& bytes_of);

  std::span<const Node> nodes() const { return nodes_; }
  // The ids of the tokens whose bytes are those from the root to this node.
  std::span<const int32_t> ids(const Node& n) const {
    return std::span(ids_).subspan(static_cast<size_t>(n.tokens),
                                   static_cast<size_t>(n.most - n.tokens));
  }
  int64_t count() const { return count_; }
  // The bytes of a token; "" if the token is left out.
  std::string_view bytes(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(all_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

 private:
  int64_t count_;
  std::vector<Node> nodes_;
  std::vector<int32_t> ids_;
  std::string all_;
  std::vector<size_t> ends_;
};

}  // namespace hone
