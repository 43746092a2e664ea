// Finds the files of a model folder that make its tokenizer, in the order of Transformers 5.
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

constexpr const char* kReadable =
    "hone reads tokenizer.json, vocab.json with merges.txt, encoder.json with vocab.bpe, "
    "vocab.txt, "
    "SentencePiece models (tokenizer.model, spiece.model, spm.model, sentencepiece.bpe.model), "
    "Marian's "
    "source.spm, target.spm and vocab.json, ByT5Tokenizer, tiktoken rank files (tokenizer.model, "
    "*.tiktoken), and the vocabulary of a GGUF file";

// A SentencePiece model or tiktoken ranks: the names are the same.
Result<TokenizerParts> from_model(const std::string& path, const TokenizerConfig& config) {
  const std::string text = HONE_TRY(read_text_file(path));
  auto parts = is_sentencepiece(text) ? read_sentencepiece(text, path, config)
                                      : read_tiktoken(text, path, config);
  if (parts.ok()) parts->source_files.push_back(path);
  return parts;
}

Result<TokenizerParts> from_json(const std::string& path, const TokenizerConfig& config) {
  const std::string text = HONE_TRY(read_text_file(path));
  TokenizerParts parts = HONE_TRY(read_tokenizer_json(text, path, config));
  HONE_TRY(apply_tokenizer_config(config, parts));
  if (config.is_bert() && parts.stages_json.normalizer.find("BertNormalizer") != std::string::npos)
    HONE_TRY(set_bert_post_processor(parts));
  if (config.is_t5() && parts.stages_json.decoder.find("Metaspace") != std::string::npos)
    HONE_TRY(set_t5_post_processor(parts));
  if (config.is_mbart()) HONE_TRY(set_mbart_post_processor(config, parts));
  if (config.is_spm_encoder() && parts.stages_json.decoder.find("Metaspace") != std::string::npos)
    HONE_TRY(set_spm_encoder_post_processor(config, parts));
  if (config.is_mpnet()) HONE_TRY(set_two_sep_post_processor(parts));
  if (config.is_byt5()) HONE_TRY(set_bytes_post_processor(parts));
  parts.source_files.push_back(path);
  return parts;
}

Result<TokenizerParts> from_vocab_txt(const std::string& path, const TokenizerConfig& config) {
  const std::string text = HONE_TRY(read_text_file(path));
  auto parts = read_vocab_txt(text, path, config);
  if (parts.ok()) parts->source_files.push_back(path);
  return parts;
}

Result<TokenizerParts> from_folder(const std::string& folder, const TokenizerSide& side) {
  TokenizerConfig config = HONE_TRY(read_tokenizer_config(folder));
  config.targets = side.targets;
  if (!side.source_lang.empty()) config.source_lang = side.source_lang;
  if (!side.target_lang.empty()) config.target_lang = side.target_lang;
  const auto path = [&](const char* name) { return folder + "/" + name; };
  const auto finish = [&](Result<TokenizerParts> parts) {
    if (parts.ok())
      parts->source_files.insert(parts->source_files.end(), config.files.begin(),
                                 config.files.end());
    return parts;
  };
  if (is_file(path("tokenizer.json"))) return finish(from_json(path("tokenizer.json"), config));
  if (is_file(path("vocab.json")) && is_file(path("merges.txt"))) {
    auto parts = read_vocab_merges(path("vocab.json"), path("merges.txt"), config);
    if (parts.ok()) parts->source_files = {path("vocab.json"), path("merges.txt")};
    return finish(std::move(parts));
  }
  if (is_file(path("encoder.json")) && is_file(path("vocab.bpe")))
    return finish(read_vocab_merges(path("encoder.json"), path("vocab.bpe"), config));
  std::vector<std::string> models;
  for (const std::string& name : names_in(folder))
    if (name.ends_with(".tiktoken")) models.push_back(folder + "/" + name);
  for (const char* name : {"tiktoken.model", "tokenizer.model", "tokenizer.model.v3",
                           "tokenizer.model.v1", "spiece.model", "spm.model"})
    if (is_file(path(name))) models.push_back(path(name));
  if (!models.empty()) return finish(from_model(models.front(), config));
  if (is_file(path("source.spm")) && is_file(path("vocab.json")))
    return finish(read_marian(folder, config));
  if (is_file(path("sentencepiece.bpe.model"))) {
    // NLLB, M2M100 and others number its pieces in ways of their own.
    if (config.renumbers()) return finish(from_model(path("sentencepiece.bpe.model"), config));
    return Error(err::kTokenizerKind,
                 fmt::format(
                     "a SentencePiece model whose ids {} decides",
                     config.tokenizer_class.empty() ? "another program" : config.tokenizer_class))
        .at(path("sentencepiece.bpe.model"))
        .todo(
            "hone numbers the pieces as XLMRobertaTokenizer, CamembertTokenizer, MBartTokenizer "
            "and "
            "MBart50Tokenizer, which tokenizer_config.json names; for others take a checkpoint "
            "with tokenizer.json: "
            "Transformers' fast tokenizer saves one");
  }
  if (config.is_byt5()) return finish(read_bytes_tokenizer(config));
  if (is_file(path("vocab.txt"))) return finish(from_vocab_txt(path("vocab.txt"), config));

  std::vector<std::string> names = names_in(folder);
  if (names.size() > 12) names.resize(12);
  return Error(err::kTokenizerMissing, "no tokenizer files here")
      .at(fmt::format("{} ({})", folder, names.empty() ? "empty" : join(names, ", ")))
      .todo(fmt::format("{}; --tokenizer_name names another folder", kReadable));
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::string& given, const TokenizerSide& side) {
  const std::string path = without_end_slash(given);
  if (is_folder(path)) return Tokenizer::make(HONE_TRY(from_folder(path, side)));
  if (!is_file(path))
    return Error(err::kTokenizerMissing, fmt::format("'{}' is neither a folder nor a file", path))
        .todo(fmt::format("give the folder of a checkpoint or tokenizer; {}", kReadable));
  if (path.ends_with(".txt")) return Tokenizer::make(HONE_TRY(from_vocab_txt(path, {})));
  if (path.ends_with(".json")) return Tokenizer::make(HONE_TRY(from_json(path, {})));
  return Tokenizer::make(HONE_TRY(from_model(path, {})));
}

}  // namespace hone
