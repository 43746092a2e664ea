#include "operate/serve/entities.h"

#include <algorithm>

#include "base/core/characters.h"
#include "operate/serve/probabilities.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr std::pair<std::string_view, EntityStrategy> kStrategies[] = {
    {"none", EntityStrategy::none},
    {"simple", EntityStrategy::simple},
    {"first", EntityStrategy::first},
    {"average", EntityStrategy::average},
    {"max", EntityStrategy::max}};

Error bad_rule(const std::string& what) {
  return Error(err::kServeRequest, what)
      .at("parameters")
      .todo(R"(give {"aggregation_strategy": "first", "ignore_labels": ["O"]}, or nothing; the )"
            "strategies are none, simple, first, average and max");
}

// A token, or the tokens of a word.
struct Tagged {
  size_t first = 0, last = 0;  // tokens
  std::vector<double> scores;  // of the labels, of the first token; then of the word
  size_t label = 0;
};

size_t best_of(const std::vector<double>& scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// Whether a token continues the word of the token before it.
class WordParts {
 public:
  explicit WordParts(const TokenLabels& t)
      : t_(t),
        marked_(t.tokenizer.parts().stages_json.decoder.find("\"WordPiece\"") !=
                std::string::npos) {}
  bool continues(size_t i) const {
    if (i > 0) {
      const TokenSpan before = t_.spans[i - 1], own = t_.spans[i];
      if (own.begin < before.end) return true;  // another part of a character
      if (before.begin == before.end && own.begin == before.begin) return true;  // a space's token
    }
    if (t_.tokenizer.unk_id() == t_.ids[i]) return false;
    if (marked_) return t_.tokenizer.token_of(t_.ids[i]).value_or("").starts_with("##");
    const size_t begin = t_.spans[i].begin;
    return begin > 0 && t_.text.substr(begin - 1, 2).find(' ') == std::string_view::npos;
  }

 private:
  const TokenLabels& t_;
  bool marked_;  // by ## in front
};

// Joins the tokens of each word, and gives it one label.
std::vector<Tagged> words_of(const TokenLabels& t, EntityStrategy strategy,
                             const std::vector<Tagged>& tokens) {
  const WordParts parts(t);
  std::vector<Tagged> words;
  for (const Tagged& token : tokens) {
    if (words.empty() || !parts.continues(token.first)) {
      words.push_back(token);
      continue;
    }
    Tagged& word = words.back();
    word.last = token.last;
    if (strategy == EntityStrategy::max &&
        token.scores[best_of(token.scores)] > word.scores[best_of(word.scores)])
      word.scores = token.scores;
    if (strategy == EntityStrategy::average)
      for (size_t i = 0; i < token.scores.size(); ++i) word.scores[i] += token.scores[i];
  }
  for (Tagged& word : words) {
    if (strategy == EntityStrategy::average)
      for (double& x : word.scores) x /= static_cast<double>(word.last - word.first + 1);
    word.label = best_of(word.scores);
  }
  return words;
}

// "B-LOC" -> {true, "LOC"}.
std::pair<bool, std::string_view> tag_of(std::string_view label) {
  if (label.starts_with("B-")) return {true, label.substr(2)};
  return {false, label.starts_with("I-") ? label.substr(2) : label};
}

// The tokens as a text; the part of the text itself, if one of them is unknown.
std::string text_of(const TokenLabels& t, size_t first, size_t last) {
  const auto ids = t.ids.subspan(first, last - first + 1);
  const auto unknown = t.tokenizer.unk_id();
  if (!unknown || std::find(ids.begin(), ids.end(), *unknown) == ids.end())
    return t.tokenizer.decode(ids);
  const size_t begin = t.spans[first].begin;
  return std::string(t.text.substr(begin, t.spans[last].end - begin));
}

// Characters in front of bytes, counted from the byte before.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {}
  size_t before(size_t byte) {
    if (byte < byte_) byte_ = count_ = 0;
    count_ += static_cast<size_t>(count_characters(text_.substr(byte_, byte - byte_)));
    byte_ = byte;
    return count_;
  }

 private:
  std::string_view text_;
  size_t byte_ = 0, count_ = 0;
};

std::vector<Entity> entities_of_tokens(const TokenLabels& t, const std::vector<Tagged>& tokens) {
  std::vector<Entity> out;
  Characters characters(t.text);
  for (const Tagged& one : tokens) {
    const size_t i = one.first;
    const bool unknown = t.tokenizer.unk_id() == t.ids[i];
    out.push_back({t.labels[one.label], one.scores[one.label], t.before + static_cast<int64_t>(i),
                   unknown ? text_of(t, i, i) : t.tokenizer.token_of(t.ids[i]).value_or(""),
                   characters.before(t.spans[i].begin), characters.before(t.spans[i].end)});
  }
  return out;
}

// Neighbours of one kind, up to the next that begins one.
std::vector<Entity> entities_of_groups(const TokenLabels& t, const std::vector<Tagged>& all) {
  std::vector<Entity> out;
  Characters characters(t.text);
  for (size_t i = 0, end = 0; i < all.size(); i = end) {
    const std::string_view kind = tag_of(t.labels[all[i].label]).second;
    double score = 0;
    for (end = i; end < all.size(); ++end) {
      const auto [begins, own] = tag_of(t.labels[all[end].label]);
      if (end > i && (begins || own != kind)) break;
      score += all[end].scores[all[end].label];
    }
    const size_t first = all[i].first, last = all[end - 1].last;
    const size_t begin = characters.before(t.spans[first].begin);
    // As Transformers: what follows the first hyphen.
    const std::string& label = t.labels[all[i].label];
    const size_t hyphen = label.find('-');
    out.push_back({hyphen == std::string::npos ? label : label.substr(hyphen + 1),
                   score / static_cast<double>(end - i), -1, text_of(t, first, last), begin,
                   characters.before(t.spans[last].end)});
  }
  return out;
}

}  // namespace

Result<EntityRules> entity_rules(const Json& parameters) {
  EntityRules rules;
  if (parameters.is_null()) return rules;
  if (!parameters.is_object()) return bad_rule("the parameters are not an object");
  for (const auto& [key, value] : parameters.items()) {
    if (key == "aggregation_strategy") {
      const auto at = std::find_if(
          std::begin(kStrategies), std::end(kStrategies),
          [&, &v = value](const auto& s) { return v.is_string() && v == std::string(s.first); });
      if (at == std::end(kStrategies))
        return bad_rule(fmt::format("there is no aggregation_strategy {}", dump_json(value)));
      rules.strategy = at->second;
    } else if (key == "ignore_labels") {
      if (!value.is_array()) return bad_rule("ignore_labels is not a list of texts");
      rules.ignored.clear();
      for (const Json& label : value) {
        if (!label.is_string()) return bad_rule("ignore_labels is not a list of texts");
        rules.ignored.push_back(label.get<std::string>());
      }
    } else {
      return bad_rule(fmt::format("there is no parameter '{}'", key));
    }
  }
  return rules;
}

std::vector<Entity> find_entities(const TokenLabels& t, const EntityRules& rules) {
  const size_t labels = t.labels.size();
  std::vector<Tagged> tagged;
  for (size_t i = 0; i < t.ids.size(); ++i) {
    Tagged& one =
        tagged.emplace_back(Tagged{i, i, probabilities_of(t.logits.subspan(i * labels, labels))});
    one.label = best_of(one.scores);
  }
  if (rules.strategy > EntityStrategy::simple) tagged = words_of(t, rules.strategy, tagged);
  std::vector<Entity> all = rules.strategy == EntityStrategy::none ? entities_of_tokens(t, tagged)
                                                                   : entities_of_groups(t, tagged);
  std::erase_if(all, [&](const Entity& e) {
    return std::find(rules.ignored.begin(), rules.ignored.end(), e.label) != rules.ignored.end();
  });
  return all;
}

}  // namespace hone
