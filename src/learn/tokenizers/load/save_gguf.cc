// A tokenizer as the vocabulary of a GGUF file. The name of the splitting pattern is found as
// llama.cpp's converter finds it: by what the tokenizer makes of a text.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/core/json.h"
#include "learn/tokenizers/load/gguf_vocab.h"
#include "learn/tokenizers/load/sentencepiece_model.h"  // types of tokens
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

// Digits, contractions, runs of white space, scripts and emoji: what splitting patterns tell apart.
constexpr const char* kProbe =
    "Hello world, I'm  here; we'LL see 3 33 333 3333 1,000.50\n\n \n\t\tnew   lines\r\n"
    "caf\xc3\xa9 \xc3\x85ngstr\xc3\xb6m e\xcc\x81 \xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c "
    "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xd9\xa3\xd9\xa4 "
    "\xf0\x9f\x98\x80\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb ... ___ --== "
    "x_1(y)[z]{0}</tag> \xe2\x80\x9cquoted\xe2\x80\x9d don't O'Neil 's'T  end  ";

// Tokens that bos and eos are, around an empty text.
Status read_frame(const Tokenizer& tokenizer, GgufVocab& v) {
  std::vector<int32_t> frame = tokenizer.with_special_tokens({}).ids;
  v.add_bos = !frame.empty() && v.bos >= 0 && frame.front() == v.bos;
  if (*v.add_bos) frame.erase(frame.begin());
  v.add_eos = !frame.empty() && v.eos >= 0 && frame.back() == v.eos;
  if (*v.add_eos) frame.pop_back();
  if (frame.empty()) return Ok{};
  return not_in_gguf("the tokenizer puts tokens other than begin and end around a text");
}

bool is_byte(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
}

void add_tokens(const Tokenizer& tokenizer, int64_t rows, GgufVocab& v) {
  const bool bytes = v.model == kScoredBpe || v.model == kRankedBpe;
  for (int32_t id = 0; id < static_cast<int32_t>(rows); ++id) {
    const std::optional<std::string> token = tokenizer.token_of(id);
    if (!token) {
      v.tokens.push_back(fmt::format("[PAD{}]", id));
      v.types.push_back(kUnused);
      continue;
    }
    v.tokens.push_back(*token);
    const AddedToken* added = tokenizer.parts().added.find(int64_t{id});
    v.types.push_back(tokenizer.unk_id() == id && bytes ? kUnknown
                      : added != nullptr                ? added->special ? kControl : kUserDefined
                      : bytes && is_byte(*token)        ? kByte
                                                        : kNormal);
  }
}

// SentencePiece's scores order the merges: a token is as good as the first merge that makes it.
void add_scores(const Json& merges, GgufVocab& v) {
  std::unordered_map<std::string, size_t> rank;
  for (size_t i = 0; i < merges.size(); ++i)
    rank.emplace(merges[i][0].get<std::string>() + merges[i][1].get<std::string>(), i);
  for (const std::string& token : v.tokens) {
    const auto at = rank.find(token);
    v.scores.push_back(-static_cast<float>(at == rank.end() ? merges.size() : at->second));
  }
}

void add_merges(const Json& merges, GgufVocab& v) {
  for (const Json& m : merges)
    v.merges.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
}

bool same_ids(const Tokenizer& a, const Tokenizer& b) {
  const std::string probe = kProbe;
  for (const std::string& text : {probe, " " + probe, probe.substr(0, 5), std::string()})
    if (a.encode(text) != b.encode(text)) return false;
  return true;
}

// The ids of pairs, and the token of each id; the file has tokens for further rows.
bool same_encoder(const Tokenizer& a, const Tokenizer& b, int64_t rows) {
  const Encoding one = a.encode_pair(kProbe, "one"), two = b.encode_pair(kProbe, "one");
  if (one.ids != two.ids || one.type_ids != two.type_ids) return false;
  for (int32_t id = 0; id < static_cast<int32_t>(rows); ++id)
    if (a.token_of(id) && a.token_of(id) != b.token_of(id)) return false;
  return true;
}

// The ids of tokens with a task. In an encoder's file [CLS] and [SEP] begin and end a text.
void set_token_ids(const Tokenizer& tokenizer, bool encoder, GgufVocab& v) {
  const auto id = [](std::optional<int32_t> given) {
    return given ? int64_t{*given} : int64_t{-1};
  };
  v.bos = id(tokenizer.bos_id());
  v.eos = id(tokenizer.eos_id());
  v.unk = id(tokenizer.unk_id());
  v.pad = id(tokenizer.pad_id());
  if (!encoder) return;
  const TokenizerParts& parts = tokenizer.parts();
  const auto named = [&](const std::string& token) {
    return token.empty() ? int64_t{-1} : id(tokenizer.id_of(token));
  };
  v.cls = named(parts.cls);
  v.sep = named(parts.sep);
  v.mask = id(tokenizer.mask_id());
  if (const AddedToken* mask = parts.added.find(v.mask)) v.mask_lstrip = mask->lstrip;
  const std::vector<int32_t> frame = tokenizer.with_special_tokens({}).ids;
  if (v.model == "bert" && v.cls < 0 && v.sep < 0 && frame.size() == 2) {
    v.cls = frame.front();  // no file names them
    v.sep = frame.back();
  }
  if (v.bos < 0) v.bos = v.cls;
  if (v.eos < 0) v.eos = v.sep;
}

// Sets the members that are tried in turn; the first vocabulary with the tokenizer's ids is kept.
using Trial = std::function<void(GgufVocab& v)>;
Status first_equal(const Tokenizer& tokenizer, int64_t rows, bool encoder,
                   const std::vector<Trial>& trials, const std::string& otherwise, GgufVocab& v) {
  for (const Trial& set : trials) {
    set(v);
    const Result<Tokenizer> back = load_gguf_tokenizer(v);
    if (back.ok() && same_ids(tokenizer, *back) &&
        (!encoder || same_encoder(tokenizer, *back, rows)))
      return Ok{};
  }
  return not_in_gguf(otherwise);
}

// The names of splitting patterns that may be a byte-level tokenizer's.
std::vector<Trial> splittings(const Json& model, bool encoder) {
  std::vector<Trial> trials;
  for (const char* pre : {"gpt-2", "smollm", "llama-bpe", "qwen2", "modern-bert"}) {
    const std::string_view name = pre;
    // llama.cpp uses the name too; a probe alone might not distinguish them.
    if (model.at("ignore_merges").get<bool>() != (name == "llama-bpe")) continue;
    if (name == "modern-bert" && !encoder) continue;
    trials.emplace_back([pre](GgufVocab& vocab) { vocab.pre = pre; });
  }
  return trials;
}

// Each trial with the forms of pairs: one token between the texts, two, or one of a tokenizer that names
// no [CLS] and [SEP].
std::vector<Trial> with_pairs(const std::vector<Trial>& trials, const GgufVocab& v) {
  std::vector<Trial> all;
  for (const Trial& set : trials) {
    for (const bool two : {false, true})
      all.emplace_back([set, two](GgufVocab& vocab) {
        vocab.add_sep = two;
        set(vocab);
        if (two && vocab.pre == "gpt-2") vocab.pre = "roberta-bpe";
      });
    if (is_of_encoder(v)) continue;
    all.emplace_back([set](GgufVocab& vocab) {
      vocab.cls = vocab.bos;
      vocab.sep = vocab.eos;
      vocab.add_sep = false;
      set(vocab);
    });
  }
  return all;
}

}  // namespace

Error not_in_gguf(std::string what) {
  return Error(err::kTokenizerKind, std::move(what))
      .todo("write a folder in place of the .gguf file, or a model with another tokenizer");
}

Result<GgufVocab> gguf_vocab(const Tokenizer& tokenizer, int64_t rows, bool encoder,
                             const char* model_kind) {
  if (tokenizer.id_limit() > rows)
    return not_in_gguf(fmt::format("the tokenizer has ids up to {}, the model {} rows for them",
                                   tokenizer.id_limit() - 1, rows));
  const Json model = HONE_TRY(parse_json(tokenizer.parts().model->to_json(), "tokenizer"));
  const std::string kind = model.at("type").get<std::string>();
  const bool bytes = tokenizer.parts().model->byte_level();
  GgufVocab v;
  v.model = kind == "WordPiece" ? "bert" : kind == "Unigram" ? "t5" : bytes ? "gpt2" : model_kind;
  if (kind != "BPE" && !encoder)
    return not_in_gguf(fmt::format("a tokenizer of the kind {} has no place in such a file", kind));
  set_token_ids(tokenizer, encoder, v);
  HONE_TRY(read_frame(tokenizer, v));
  add_tokens(tokenizer, rows, v);
  v.chat_template = tokenizer.chat_template();
  std::vector<Trial> trials;
  std::string otherwise = fmt::format("llama.cpp's {} gives other ids than the tokenizer", kind);
  if (kind == "WordPiece") {
    HONE_TRY(write_gguf_wordpiece(tokenizer, v));
    trials.emplace_back([](GgufVocab&) {});
  } else if (kind == "Unigram") {
    HONE_TRY(write_gguf_unigram(tokenizer, v));
    trials.emplace_back([](GgufVocab&) {});
  } else if (bytes) {
    trials = splittings(model, encoder);
    add_merges(model.at("merges"), v);
    otherwise = "llama.cpp has no name that hone knows for the tokenizer's splitting";
  } else if (v.model == kRankedBpe) {
    v.pre = kRankedBpe;
    add_merges(model.at("merges"), v);
    trials.emplace_back([](GgufVocab& vocab) { vocab.add_space_prefix = false; });
  } else {
    v.pre = "default";
    add_scores(model.at("merges"), v);
    for (const bool prefix : {true, false})
      trials.emplace_back([prefix](GgufVocab& vocab) { vocab.add_space_prefix = prefix; });
    otherwise = "the tokenizer's merges do not follow from scores of its tokens";
  }
  if (encoder) trials = with_pairs(trials, v);
  HONE_TRY(first_equal(tokenizer, rows, encoder, trials, otherwise, v));
  return v;
}

}  // namespace hone
