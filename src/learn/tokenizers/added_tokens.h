// Tokens that are cut out of a text before anything else splits it: special tokens and tokens that
// users added.
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
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalised text, not in the raw one
  bool special = true;       // may be skipped when decoding
  int32_t id = -1;           // given by AddedTokens::add
};

class AddedTokens {
 public:
  // Gives the token an id: the one of the vocabulary when it is there, else the next free one. An
  // empty token or one that is there already with the same text is ignored.
  void add(AddedToken token, const Vocabulary& vocabulary, const Normalizer* normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(int64_t id) const;
  // Tokens that are not in the vocabulary.
  int64_t beyond_vocabulary() const { return beyond_; }

  using TokenSink = FunctionRef<void(const AddedToken&)>;
  // Cuts `text` at the tokens of one kind (normalized or not), leftmost first, the longest of
  // those that start together. With skip_special, special tokens are ordinary text.
  void split(std::string_view text, bool normalized, bool skip_special, PieceSink on_text,
             TokenSink on_token) const;
  bool any(bool normalized) const { return !tries_[normalized].nodes.empty(); }

 private:
  // Bytes of the tokens as a tree; children of a node are a linked list.
  struct Node {
    int32_t child = -1, sibling = -1, token = -1;
    char byte = 0;
  };
  struct Trie {
    std::vector<Node> nodes;                                     // nodes[0] is the root
    std::vector<int32_t> first = std::vector<int32_t>(256, -1);  // children of the root by byte
    int first_bytes = 0;  // number of bytes that begin a token
    char only_first = 0;  // that byte when there is one
    void insert(std::string_view text, int32_t token);
    // Index of the longest token that starts at text[at], or -1; length gets its bytes.
    int32_t longest(std::string_view text, size_t at, size_t& length) const;
    // First place from `at` on where a token may start, or text.size().
    size_t next_start(std::string_view text, size_t at) const;
  };

  std::vector<AddedToken> tokens_;
  Vocabulary index_;  // content -> place in tokens_
  int64_t beyond_ = 0;
  int32_t highest_id_ = -1;
  Trie tries_[2];
};

}  // namespace hone
