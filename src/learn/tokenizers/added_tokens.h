// Finds added tokens in a text: special tokens, and tokens that users added. They are cut out before any other stage
// splits the text.
// Reference: huggingface/tokenizers tokenizer/added_vocabulary.rs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/threads.h"
#include "learn/tokenizers/stages/stages.h"

namespace hone {

struct AddedToken {
  std::string content;
  bool single_word = false;  // matches only if no word character is directly before or after it
  bool lstrip = false;       // the match includes the white space before it
  bool rstrip = false;       // the match includes the white space after it
  bool normalized = false;   // true: searched in the normalized text; false: in the raw text
  bool special = true;       // decoding with skip_special_tokens leaves it out
  int32_t id = -1;           // AddedTokens::add sets it
};

class AddedTokens {
 public:
  // Adds a token. Its id is that of the vocabulary, or the next free id if the vocabulary does not have the token.
  // Ignores an empty token, and a token whose text was added before. If token.normalized is true and `normalizer` is
  // not null, the normal form of the content replaces it: the token is searched and decoded in this form.
  void add(AddedToken token, const Vocabulary& vocabulary, const Normalizer* normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(int64_t id) const;
  // The number of added tokens that are not in the vocabulary.
  int64_t beyond_vocabulary() const { return beyond_; }

  using TokenSink = FunctionRef<void(const AddedToken&)>;
  // Cuts `text` at the added tokens whose AddedToken::normalized equals `normalized`. Calls on_token for each token and
  // on_text for each text between tokens, in order. If several tokens start at the same byte, the longest counts. With
  // skip_special, special tokens are ordinary text.
  void split(std::string_view text, bool normalized, bool skip_special, PieceSink on_text,
             TokenSink on_token) const;
  // True if there are tokens whose AddedToken::normalized equals `normalized`.
  bool any(bool normalized) const { return !tries_[normalized].nodes.empty(); }

 private:
  // A node of a trie over the bytes of the tokens. The children of a node are a linked list.
  struct Node {
    int32_t child = -1, sibling = -1, token = -1;
    char byte = 0;
  };
  struct Trie {
    std::vector<Node> nodes;                                     // nodes[0] is the root
    std::vector<int32_t> first = std::vector<int32_t>(256, -1);  // children of the root by byte
    int first_bytes = 0;  // number of different first bytes of tokens
    char only_first = 0;  // the first byte of all tokens, if first_bytes is 1
    void insert(std::string_view text, int32_t token);
    // The index of the longest token that starts at text[at], or -1. Sets `length` to its bytes.
    int32_t longest(std::string_view text, size_t at, size_t& length) const;
    // The first offset from `at` on at which a token may start, or text.size().
    size_t next_start(std::string_view text, size_t at) const;
  };

  std::vector<AddedToken> tokens_;
  Vocabulary index_;  // content -> index in tokens_
  int64_t beyond_ = 0;
  int32_t highest_id_ = -1;
  Trie tries_[2];
};

}  // namespace hone
