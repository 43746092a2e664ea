// A PairTemplate as the JSON of a TemplateProcessing stage.
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
    return fmt::format("{}", fmt::join(all, ","));
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
      pair, fmt::join(specials, ","));
}

}  // namespace hone
