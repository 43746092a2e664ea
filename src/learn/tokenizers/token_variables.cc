#include "learn/tokenizers/token_variables.h"

namespace hone {

OrderedJson token_variables(const TokenizerParts& t) {
  OrderedJson variables = OrderedJson::object();
  const std::pair<const char*, const std::string*> named[] = {
      {"bos_token", &t.bos}, {"eos_token", &t.eos}, {"unk_token", &t.unk},  {"sep_token", &t.sep},
      {"pad_token", &t.pad}, {"cls_token", &t.cls}, {"mask_token", &t.mask}};
  for (const auto& [name, token] : named)
    if (!token->empty()) variables[name] = *token;
  return variables;
}

}  // namespace hone
