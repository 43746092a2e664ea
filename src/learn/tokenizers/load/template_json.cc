#include "learn/tokenizers/load/template_json.h"

#include "base/core/text.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {

Result<std::string> pair_template_json(const PairTemplate& t, const TokenizerParts& parts) {
  std::vector<std::string> specials, known;
  std::string unknown;
  const auto tokens = [&](const std::vector<std::string>& names, int segment) {
    std::vector<std::string> out;
    for (const std::string& name : names) {
      const AddedToken* added = parts.added.find(name);
      const auto id = added ? std::optional(added->id) : parts.model->vocabulary().find(name);
      if (!id) unknown = name;
      const std::string quoted = json_quote(name);
      out.push_back(fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", quoted, segment));
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      known.push_back(name);
      specials.push_back(
          fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", quoted, id.value_or(0)));
    }
    return out;
  };
  const auto text = [](char name, int segment) {
    return std::vector{fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, segment)};
  };
  const auto joined = [](std::initializer_list<std::vector<std::string>> parts_of_it) {
    std::vector<std::string> all;
    for (const auto& part : parts_of_it) all.insert(all.end(), part.begin(), part.end());
    return join(all, ",");
  };
  const std::string one = joined({tokens(t.before_one, 0), text('A', 0), tokens(t.after_one, 0)});
  const std::string pair = joined({tokens(t.before, 0), text('A', 0), tokens(t.between, 0),
                                   text('B', t.second), tokens(t.after, t.second)});
  if (!unknown.empty())
    return Error(err::kTokenizerVocabulary,
                 fmt::format("the vocabulary lacks the token \"{}\"", unknown))
        .todo("take the tokenizer's files from the same model");
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{}],"pair":[{}],"special_tokens":{{{}}}}})", one,
      pair, join(specials, ","));
}

std::string bos_eos_template(const std::string& bos, std::optional<int32_t> bos_id,
                             const std::string& eos, std::optional<int32_t> eos_id, int second) {
  if (!bos_id && !eos_id) return byte_level_json(true, true);
  const auto token = [](const std::string& text, int segment) {
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", json_quote(text), segment);
  };
  const auto sequence = [&](char name, int segment) {
    std::string s = bos_id ? token(bos, segment) + "," : "";
    s += fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, segment);
    return eos_id ? s + "," + token(eos, segment) : s;
  };
  const auto entry = [](const std::string& text, int32_t id) {
    const std::string quoted = json_quote(text);
    return fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", quoted, id);
  };
  std::string specials = bos_id ? entry(bos, *bos_id) : "";
  if (eos_id && (!bos_id || bos != eos)) specials += (bos_id ? "," : "") + entry(eos, *eos_id);
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},{1}],"special_tokens":{{{2}}}}})",
      sequence('A', 0), sequence('B', second), specials);
}

Status apply_bos_eos(const TokenizerConfig& config, TokenizerParts& parts) {
  if (!config.add_bos && !config.add_eos) return Ok{};
  const auto id = [&](const std::optional<bool>& wanted, const std::string& token) {
    const AddedToken* found = token.empty() ? nullptr : parts.added.find(token);
    return wanted.value_or(false) && found ? std::optional(found->id) : std::nullopt;
  };
  const std::string json = bos_eos_template(parts.bos, id(config.add_bos, parts.bos), parts.eos,
                                            id(config.add_eos, parts.eos));
  return replace_post_processor(json, parts);
}

}  // namespace hone
