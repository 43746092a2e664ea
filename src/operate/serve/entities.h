// Finds entities, such as the names of places, from the logits of a token classifier. Settings and results are those of
// Transformers' token-classification pipeline: https://huggingface.co/docs/transformers/main_classes/pipelines
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "learn/tokenizers/token_spans.h"

namespace hone {

// Transformers' setting aggregation_strategy: which tokens form one entity. Every strategy except `none` joins
// neighbours with the same label ("B-LOC" and "I-LOC" count as the same); a label "B-..." begins a new entity.
enum class EntityStrategy {
  none,     // each token is an entity of its own
  simple,   // joins neighbouring tokens
  first,    // gives each word the label of its first token, then joins words
  average,  // gives each word the label with the highest mean probability, then joins words
  max       // gives each word the label of its most certain token, then joins words
};

struct EntityRules {
  // hone's evaluation uses the label of a word's first token too.
  EntityStrategy strategy = EntityStrategy::first;
  // Transformers' ignore_labels: entities with these labels are left out.
  std::vector<std::string> ignored = {"O"};
};
// Parses a request's parameters {"aggregation_strategy", "ignore_labels"}; null: the defaults. Error H3415: an unknown
// key, or a value that is not allowed.
Result<EntityRules> entity_rules(const Json& parameters);

struct Entity {
  // With EntityStrategy::none the token's label, "B-LOC"; else without "B-": "LOC".
  std::string label;
  double score = 0;  // probability of the label, 0 to 1; the mean over the joined tokens or words
  // With EntityStrategy::none, the position of the token in the model's input, from 0, counting special tokens. Else
  // -1.
  int64_t index = -1;
  // With EntityStrategy::none the token as the vocabulary spells it ("##ing"); else its text.
  std::string word;
  // The entity's characters (code points) in the text, from 0: [begin, end), end exclusive.
  size_t begin = 0, end = 0;
};

// A text, its tokens without special tokens, and their logits. The referenced objects must outlive it.
struct TokenLabels {
  const Tokenizer& tokenizer;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const TokenSpan> spans;     // the bytes of `text` of each token
  std::span<const float> logits;        // [ids, labels], row-major; further values are ignored
  std::span<const std::string> labels;  // names of the labels: "O", "B-LOC", "I-LOC"
  // Number of special tokens before ids[0] in the model's input.
  int64_t before = 0;
};
// The entities in the order of the text, without those that the rules ignore.
std::vector<Entity> find_entities(const TokenLabels& t, const EntityRules& rules);

}  // namespace hone
