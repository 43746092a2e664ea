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
// neighbours whose labels have the same type: "B-LOC" and "I-LOC" both have the type "LOC". But a token or word with a
// label "B-..." always begins a new entity.
enum class EntityStrategy {
  none,     // each token is an entity of its own
  simple,   // joins neighbouring tokens, without regard to words
  first,    // gives each word the label of its first token, then joins words
  average,  // gives each word the label with the highest mean probability, then joins words
  max       // gives each word the label of its most certain token, then joins words
};

struct EntityRules {
  // The default `first` fits hone's evaluation, which also uses the label of a word's first token.
  EntityStrategy strategy = EntityStrategy::first;
  // Transformers' ignore_labels: entities with these labels are left out.
  std::vector<std::string> ignored = {"O"};
};
// Parses the parameters of a request: an object with the keys "aggregation_strategy" and "ignore_labels", both
// optional; null: the defaults. Error H3415: an unknown key, or a value that is not allowed.
Result<EntityRules> entity_rules(const Json& parameters);

struct Entity {
  // With EntityStrategy::none the token's label, such as "B-LOC". Else the label without "B-" or "I-", such as "LOC".
  std::string label;
  double score = 0;  // probability of the label, 0 to 1; the mean over the joined tokens or words
  // With EntityStrategy::none, the position of the token in the model's input, from 0; special tokens count. Else -1.
  int64_t index = -1;
  // With EntityStrategy::none the token as the vocabulary spells it, such as "##ing". Else the text of the entity.
  std::string word;
  // The entity's characters (code points) in the text, from 0: [begin, end), end exclusive.
  size_t begin = 0, end = 0;
};

// A text, its tokens without special tokens, and the logits of these tokens. The referenced objects must outlive the
// struct.
struct TokenLabels {
  const Tokenizer& tokenizer;
  std::string_view text;
  std::span<const int32_t> ids;
  std::span<const TokenSpan> spans;     // for each token its range of bytes in `text`
  std::span<const float> logits;        // [ids, labels], row-major; values after these are ignored
  std::span<const std::string> labels;  // names of the labels: "O", "B-LOC", "I-LOC"
  // Number of special tokens before ids[0] in the model's input.
  int64_t before = 0;
};
// Returns the entities in the order of the text, without entities whose labels the rules ignore.
std::vector<Entity> find_entities(const TokenLabels& t, const EntityRules& rules);

}  // namespace hone
