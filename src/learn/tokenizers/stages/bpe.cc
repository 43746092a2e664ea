#include "learn/tokenizers/stages/bpe.h"

#include <algorithm>
#include <cmath>

#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {

Result<Merge> resolve_merge(const Vocabulary& vocabulary, std::string_view left,
                            std::string_view right, const std::string& where) {
  Merge merge{};
  std::string both(left);
  both += right;
  const std::pair<std::string_view, int32_t*> wanted[] = {
      {left, &merge.left}, {right, &merge.right}, {both, &merge.result}};
  for (const auto& [token, id] : wanted) {
    const auto found = vocabulary.find(token);
    if (!found)
      return Error(err::kTokenizerVocabulary,
                   fmt::format("the merge of \"{}\" and \"{}\" needs the token \"{}\", which the "
                               "vocabulary does not have",
                               left, right, token))
          .at(where)
          .todo("take vocabulary and merges from the same tokenizer");
    *id = *found;
  }
  return merge;
}

Status merges_from_scores(const std::vector<float>& scores, BpeParts& parts) {
  const Vocabulary& v = parts.vocabulary;
  const auto score_of = [&](int32_t id) {
    return static_cast<size_t>(id) < scores.size() ? scores[static_cast<size_t>(id)] : NAN;
  };
  std::vector<int32_t> left_bytes;  // beside parts.merges
  for (int64_t id = 0; id < v.id_limit(); ++id) {
    const auto token = v.token(id);
    if (!token || std::isnan(score_of(static_cast<int32_t>(id)))) continue;
    if (token->size() > kMaxMergedBytes)
      return Error(err::kTokenizerVocabulary,
                   fmt::format("token {} is {} bytes long; tokens that merge have at most {}", id,
                               token->size(), kMaxMergedBytes))
          .todo("fetch the file again; it may be damaged");
    for (size_t cut = 1; cut < token->size(); ++cut) {
      if ((static_cast<unsigned char>((*token)[cut]) & 0xc0) == 0x80) continue;
      const auto left = v.find(token->substr(0, cut));
      if (!left || std::isnan(score_of(*left))) continue;
      const auto right = v.find(token->substr(cut));
      if (!right || std::isnan(score_of(*right))) continue;
      parts.merges.push_back({*left, *right, static_cast<int32_t>(id)});
      left_bytes.push_back(static_cast<int32_t>(cut));
    }
  }
  // Highest score first; among equals the longest left part, the order of Transformers.
  std::vector<size_t> order(parts.merges.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const float x = score_of(parts.merges[a].result), y = score_of(parts.merges[b].result);
    return x != y ? x > y : left_bytes[a] > left_bytes[b];
  });
  std::vector<Merge> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) {
    const bool equal =
        !sorted.empty() && score_of(sorted.back().result) == score_of(parts.merges[i].result);
    parts.ranks.push_back(sorted.empty() ? 0 : parts.ranks.back() + !equal);
    sorted.push_back(parts.merges[i]);
  }
  parts.merges = std::move(sorted);
  return Ok{};
}

Result<std::unique_ptr<Model>> make_bpe(BpeParts parts) {
  if (!parts.unk_token.empty() && !parts.vocabulary.find(parts.unk_token))
    return Error(err::kTokenizerVocabulary,
                 fmt::format("the unknown token \"{}\" is not in the vocabulary", parts.unk_token));
  return parts.byte_level ? make_byte_level_bpe(std::move(parts))
                          : make_character_bpe(std::move(parts));
}

std::string bpe_json(const BpeParts& parts) {
  const Vocabulary& v = parts.vocabulary;
  std::string out = fmt::format(
      "{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":{},\"continuing_subword_prefix\":null,"
      "\"end_of_word_suffix\":null,\"fuse_unk\":{},\"byte_fallback\":{},\"ignore_merges\":{},"
      "\n\"vocab\":{},\n\"merges\":[",
      parts.unk_token.empty() ? "null" : json_quote(parts.unk_token), parts.fuse_unk,
      parts.byte_fallback, parts.ignore_merges, v.to_json());
  const char* separator = "\n";
  for (const Merge& m : parts.merges) {
    out += fmt::format("{}[{},{}]", separator, json_quote(v.token(m.left).value_or("")),
                       json_quote(v.token(m.right).value_or("")));
    separator = ",\n";
  }
  return out + "]}";
}

}  // namespace hone
