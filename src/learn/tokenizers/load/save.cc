// Writes a tokenizer into a folder: the files it was read from, or a tokenizer.json.
#include <filesystem>

#include "base/store/store.h"
#include "learn/tokenizers/load/load.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

Error cannot_save(const Error& why) {
  return Error(err::kTokenizerSave, std::string(why.what()))
      .todo(
          "check that the folder is writable and has space left, and that the tokenizer's "
          "own "
          "files are still there");
}

Status write_file(const fs::path& path, std::string_view text) {
  const Status written = file_store().write(path.string(), text);
  return written.ok() ? written : Status(cannot_save(written.error()));
}

std::string named_tokens(const TokenizerParts& p, std::string_view separator) {
  const std::pair<const char*, const std::string*> named[] = {
      {"bos_token", &p.bos}, {"eos_token", &p.eos}, {"unk_token", &p.unk},  {"sep_token", &p.sep},
      {"pad_token", &p.pad}, {"cls_token", &p.cls}, {"mask_token", &p.mask}};
  std::string out;
  for (const auto& [name, token] : named)
    if (!token->empty())
      out +=
          fmt::format("{}\n  \"{}\": {}", out.empty() ? "" : separator, name, json_quote(*token));
  return out;
}

std::string config_json(const TokenizerParts& p) {
  std::string out = "{" + named_tokens(p, ",");
  const auto add = [&](std::string_view key, const std::string& value) {
    out += fmt::format("{}\n  \"{}\": {}", out.size() > 1 ? "," : "", key, value);
  };
  add("model_max_length",
      p.model_max_length ? std::to_string(*p.model_max_length) : "1000000000000000019884624838656");
  if (!p.chat_template.empty()) add("chat_template", json_quote(p.chat_template));
  add("clean_up_tokenization_spaces", "false");
  // The former reads tokenizer.json unchanged.
  add("tokenizer_class",
      p.fits_tokenizer_json ? "\"PreTrainedTokenizerFast\"" : "\"MarianTokenizer\"");
  return out + "\n}\n";
}

}  // namespace

std::string StagesJson::members() const {
  return fmt::format(
      "\"normalizer\":{},\n\"pre_tokenizer\":{},\n\"post_processor\":{},\n\"decoder\":{}",
      normalizer, pre_tokenizer, post_processor, decoder);
}

std::string tokenizer_json(const Tokenizer& tokenizer) {
  const TokenizerParts& p = tokenizer.parts();
  std::string added;
  for (const AddedToken& t : p.added.tokens())
    added += fmt::format(
        R"({}{{"id":{},"content":{},"single_word":{},"lstrip":{},"rstrip":{},"normalized":{},"special":{}}})",
        added.empty() ? "\n" : ",\n", t.id, json_quote(t.content), t.single_word, t.lstrip,
        t.rstrip, t.normalized, t.special);
  return fmt::format(
      "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n\"added_tokens\":[{}],\n{},\n"
      "\"model\":{}}}\n",
      added, p.stages_json.members(), p.model->to_json());
}

Status save_tokenizer(const Tokenizer& tokenizer, const std::string& folder) {
  if (Status made = file_store().make_dirs(folder); !made.ok()) return cannot_save(made.error());
  const TokenizerParts& p = tokenizer.parts();
  std::vector<std::string> present;
  for (const std::string& source : p.source_files) {
    const fs::path name = fs::path(source).filename(), target = fs::path(folder) / name;
    present.push_back(name.string());
    std::error_code error;
    if (fs::equivalent(source, target, error)) continue;
    Result<std::string> bytes = file_store().read(source);
    if (!bytes.ok()) return cannot_save(bytes.error());
    HONE_TRY(write_file(target, *bytes));
  }
  const auto missing = [&](std::string_view name) {
    return std::find(present.begin(), present.end(), name) == present.end();
  };
  if (missing("tokenizer.json") && p.fits_tokenizer_json)
    HONE_TRY(write_file(fs::path(folder) / "tokenizer.json", tokenizer_json(tokenizer)));
  if (missing("tokenizer_config.json"))
    HONE_TRY(write_file(fs::path(folder) / "tokenizer_config.json", config_json(p)));
  if (missing("special_tokens_map.json"))
    HONE_TRY(write_file(fs::path(folder) / "special_tokens_map.json",
                        "{" + named_tokens(p, ",") + "\n}\n"));
  return Ok{};
}

}  // namespace hone
