// MarianTokenizer: SentencePiece cuts the text, vocab.json has the ids of what it cuts; a piece or
// a run of unknown characters that is not there is <unk>. One model for sources, one for targets. A
// language code ">>fr<<" that begins a text is one token.
// Reference: Transformers 5, models/marian/tokenization_marian.py; google/sentencepiece
// sentencepiece_processor.cc, Decode.
#include <set>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_parts.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/metaspace.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

// Between normalizer and model a language code is between two such bytes, which no text has
// after a SentencePiece normalizer: it leaves UTF-8 only.
constexpr char kMark = '\xff';

class MarianNormalizer : public Normalizer {
 public:
  explicit MarianNormalizer(std::unique_ptr<Normalizer> inner) : inner_(std::move(inner)) {}
  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    const size_t stop = text.starts_with(">>") ? text.find("<<") : text.npos;
    if (stop == text.npos) return inner_->normalize(text, buffer);
    const std::string_view code = text.substr(0, stop + 2);
    ScratchString rest;
    const std::string_view normal = inner_->normalize(text.substr(stop + 2), *rest);
    buffer.clear();
    buffer += kMark;
    for (const char c : code)
      if (c != kMark) buffer += c;
    buffer += kMark;
    return buffer += normal;
  }

 private:
  std::unique_ptr<Normalizer> inner_;
};

class MarianModel : public Model {
 public:
  MarianModel(std::unique_ptr<Model> inner, int32_t unk_id)
      : inner_(std::move(inner)), unk_id_(unk_id) {}
  std::unique_ptr<ModelScratch> make_scratch() const override { return inner_->make_scratch(); }
  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    if (piece.starts_with(kMark)) {
      const size_t stop = std::min(piece.find(kMark, 1), piece.size());
      ids.push_back(vocabulary().find(piece.substr(1, stop - 1)).value_or(unk_id_));
      piece.remove_prefix(std::min(stop + 1, piece.size()));
    }
    if (!piece.empty()) inner_->encode(piece, ids, scratch);
  }
  const Vocabulary& vocabulary() const override { return inner_->vocabulary(); }
  bool byte_level() const override { return false; }
  std::string to_json() const override { return inner_->to_json(); }

 private:
  std::unique_ptr<Model> inner_;
  int32_t unk_id_;
};

// Runs of pieces between special tokens go back to text as SentencePiece does it: the first piece
// of a run that it knows loses its space. A special token is followed by a space.
class MarianDecoder : public Decoder {
 public:
  MarianDecoder(const SentencePieceModel& m, const AddedTokens& added)
      : takes_space_(m.dummy_prefix || m.squeeze), squeezes_(m.squeeze) {
    for (const SentencePiece& p : m.pieces) {
      if (p.type == kControl)
        controls_.emplace(p.text);
      else if (p.type != kUnknown)
        known_.emplace(p.text);
    }
    for (const AddedToken& token : added.tokens())
      if (token.special) special_.insert(token.content);
  }

  void append_token(std::string_view token, bool first, std::string& out) const override {
    if (special_.contains(token)) {
      out += token;
      out += ' ';
      return;
    }
    if (first && token.starts_with(kMetaspace)) token.remove_prefix(kMetaspace.size());
    append_spaced(token, out);
  }

  bool append_all(std::span<const std::string_view> tokens, std::string& out) const override {
    std::string text;
    bool begins = true;  // nothing of this run is in the text yet
    for (std::string_view token : tokens) {
      if (special_.contains(token)) {
        text += token;
        text += ' ';
        begins = true;
        continue;
      }
      if (controls_.contains(token)) continue;
      const bool takes = begins && takes_space_ && known_.contains(token);
      if (takes && token.starts_with(kMetaspace)) {
        token.remove_prefix(kMetaspace.size());
        begins = token.empty() && squeezes_;
      } else {
        begins = false;
      }
      append_spaced(token, text);
    }
    out += stripped(text);
    return true;
  }

 private:
  static void append_spaced(std::string_view token, std::string& out) {
    for (size_t at = 0; at < token.size();) {
      const size_t found = std::min(token.find(kMetaspace, at), token.size());
      out += token.substr(at, found - at);
      if (found == token.size()) break;
      out += ' ';
      at = found + kMetaspace.size();
    }
  }
  static std::string_view stripped(std::string_view text) {
    const auto space = [](const Char& c) {
      return c.code != kInvalidChar && (class_of(char_classes(), c.code) & kSpace) != 0;
    };
    while (!text.empty()) {
      const Char c = decode_char(text.data(), text.data() + text.size());
      if (!space(c)) break;
      text.remove_prefix(static_cast<size_t>(c.length));
    }
    while (!text.empty()) {
      const Char c = decode_last_char(text.data(), text.data() + text.size());
      if (!space(c)) break;
      text.remove_suffix(static_cast<size_t>(c.length));
    }
    return text;
  }

  using Texts = std::set<std::string, std::less<>>;
  Texts known_, controls_, special_;
  bool takes_space_, squeezes_;
};

Status read_ids(const std::string& path, Vocabulary& vocabulary) {
  const std::string text = HONE_TRY(read_text_file(path));
  const JsonDocument document = HONE_TRY(JsonDocument::parse(text, path));
  return read_vocabulary(JsonAt{document.root(), path + ":"}, vocabulary);
}

Result<SentencePieceModel> parse(const std::string& bytes, const std::string& path) {
  auto model = parse_sentencepiece(bytes);
  if (!model.ok()) return std::move(model.error()).at(path);
  if (model->model_type != 1 || model->space_as_suffix || !model->escape)
    return Error(err::kTokenizerKind,
                 "Marian with a SentencePiece model that is not a Unigram model")
        .at(path)
        .todo("hone reads Unigram models, which all OPUS-MT checkpoints have");
  return model;
}

}  // namespace

Result<TokenizerParts> read_marian(const std::string& folder, const TokenizerConfig& given) {
  TokenizerConfig config = given;
  config.tokenizer_class = "MarianTokenizer";
  const auto path = [&](const char* name) { return folder + "/" + name; };
  const bool separate = config.separate_vocabs;
  const std::string spm = path(config.targets ? "target.spm" : "source.spm");
  const std::string ids = path(config.targets && separate ? "target_vocab.json" : "vocab.json");
  const std::string bytes = HONE_TRY(read_text_file(spm));
  const SentencePieceModel m = HONE_TRY(parse(bytes, spm));
  auto cut = unigram_parts(m);
  if (!cut.ok()) return std::move(cut.error()).at(spm);
  UnigramParts unigram = std::move(cut).value();
  unigram.vocabulary = {};
  HONE_TRY(read_ids(ids, unigram.vocabulary));
  const AddedToken* given_unk = config.find("unk_token");
  const auto unk = unigram.vocabulary.find(given_unk ? given_unk->content : "<unk>");
  if (!unk)
    return Error(err::kTokenizerVocabulary, "the vocabulary has no unknown token \"<unk>\"")
        .at(ids)
        .todo("take vocab.json and tokenizer_config.json from the same model");
  unigram.unk_id = *unk;
  unigram.look_up_unknown = true;
  for (UnigramPiece& p : unigram.pieces) p.id = unigram.vocabulary.find(p.text).value_or(*unk);

  TokenizerParts parts;
  parts.kind = "Marian";
  parts.fits_tokenizer_json = false;
  parts.normalizer = std::make_unique<MarianNormalizer>(HONE_TRY(sentencepiece_normalizer(m)));
  parts.model = std::make_unique<MarianModel>(make_unigram(std::move(unigram)), *unk);
  parts.model_max_length = 512;
  // Special tokens have the ids of the sources' vocabulary on both sides, as in Transformers.
  Vocabulary sources;
  const bool of_sources = config.targets && separate;
  if (of_sources) HONE_TRY(read_ids(path("vocab.json"), sources));
  HONE_TRY(apply_tokenizer_config(config, parts, of_sources ? &sources : nullptr));
  PairTemplate t;
  t.after = t.after_one = {parts.eos};
  t.second = 1;
  HONE_TRY(replace_post_processor(HONE_TRY(pair_template_json(t, parts)), parts));
  // If the sides share a vocabulary, ids are decoded with the source's model, as in Transformers.
  const std::string decoding = separate ? spm : path("source.spm");
  const std::string decoding_bytes = HONE_TRY(read_text_file(decoding));
  parts.decoder =
      std::make_unique<MarianDecoder>(HONE_TRY(parse(decoding_bytes, decoding)), parts.added);
  for (const char* name : {"source.spm", "target.spm", "vocab.json"})
    parts.source_files.push_back(path(name));
  if (separate) parts.source_files.push_back(path("target_vocab.json"));
  return parts;
}

}  // namespace hone
