// The labels of a text's tokens as names with their places, in the forms of Transformers' token-classification
// pipeline: https://huggingface.co/docs/transformers/main_classes/pipelines
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "learn/tokenizers/token_spans.h"

namespace hone {

// aggregation_strategy. none: each token. simple: neighbours with one label together. The others first give
// each word one label: that of its first token, of the mean of its tokens, or of the surest one.
enum class EntityStrategy { none, simple, first, average, max };

struct EntityRules {
  // An evaluation counts the label of a word's first token.
  EntityStrategy strategy = EntityStrategy::first;
  std::vector<std::string> ignored = {"O"};  // ignore_labels
};
// {"aggregation_strategy", "ignore_labels"}. H3415: another key or value.
Result<EntityRules> entity_rules(const Json& parameters);

struct Entity {
  std::string label;  // of a token "B-LOC", else "LOC"
  double score = 0;
  int64_t index = -1;  // of the token in its row; -1: several tokens
  std::string word;
  size_t begin = 0, end = 0;  // characters of the text
};

// A text, its tokens without special ones, and their logits.
struct TokenLabels {
  const Tokenizer& tokenizer;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const TokenSpan> spans;
  std::span<const float> logits;  // [ids, labels]
  std::span<const std::string> labels;
  int64_t before = 0;  // special tokens in front
};
std::vector<Entity> find_entities(const TokenLabels& t, const EntityRules& rules);

}  // namespace hone
