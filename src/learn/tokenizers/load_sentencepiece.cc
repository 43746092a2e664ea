// SentencePiece models (tokenizer.model) of the kind BPE, and what surrounds such a vocabulary.
// Reference: google/sentencepiece sentencepiece_model.proto for the fields; the protobuf encoding
// guide for the bytes.
#include <bit>
#include <cmath>
#include <cstring>

#include "learn/tokenizers/errors.h"
#include "learn/tokenizers/loaders.h"
#include "learn/tokenizers/metaspace.h"
#include "learn/tokenizers/unicode.h"

namespace hone {
namespace {

// A message of protobuf's wire format, field by field.
class Message {
 public:
  Message(std::string_view bytes, size_t offset) : bytes_(bytes), offset_(offset) {}

  struct Field {
    uint64_t number = 0;
    int wire = 0;            // 0 varint, 1 eight bytes, 2 bytes with their length, 5 four bytes
    uint64_t value = 0;      // of the wires 0, 1, 5
    std::string_view bytes;  // of the wire 2
    size_t offset = 0;       // of the content, in the file
  };
  // The next field; false behind the last one.
  Result<bool> next(Field& f) {
    if (at_ == bytes_.size()) return false;
    uint64_t tag = 0;
    if (!varint(tag)) return damaged("a field's tag is cut off or too long");
    f.number = tag >> 3;
    f.wire = static_cast<int>(tag & 7);
    if (f.number == 0) return damaged("a field has the number 0");
    f.offset = offset_ + at_;
    if (f.wire == 0) {
      if (!varint(f.value)) return damaged("a number is cut off or too long");
      return true;
    }
    uint64_t size = f.wire == 1 ? 8 : 4;
    if (f.wire == 2) {
      if (!varint(size)) return damaged("a length is cut off or too long");
    } else if (f.wire != 1 && f.wire != 5) {
      return damaged(fmt::format("field {} has the unknown wire type {}", f.number, f.wire));
    }
    if (size > bytes_.size() - at_)
      return damaged(fmt::format("field {} is {} bytes long, {} are left", f.number, size,
                                 bytes_.size() - at_));
    f.offset = offset_ + at_;
    f.bytes = bytes_.substr(at_, size);
    f.value = 0;
    if (f.wire != 2) std::memcpy(&f.value, f.bytes.data(), size);
    at_ += size;
    return true;
  }

  Error damaged(std::string_view what) const {
    return Error(err::kTokenizerFormat, fmt::format("not a SentencePiece model: {}", what))
        .at(fmt::format("byte {}", offset_ + at_))
        .todo(
            "fetch the file again; it may be cut off, or a git-lfs pointer or a download page "
            "instead of the file");
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view bytes_;
  size_t offset_, at_ = 0;
};

enum PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
constexpr const char* kModelTypes[] = {"?", "Unigram", "BPE", "WORD", "CHAR"};

struct Piece {
  std::string_view text;
  float score = 0;
  uint64_t type = kNormal;
  size_t offset = 0;
};

struct SentencePieceModel {
  std::vector<Piece> pieces;
  uint64_t model_type = 1;
  bool byte_fallback = false, space_as_suffix = false;
  int32_t bos = 1, eos = 2, pad = -1;
  std::string_view rule = "";
  bool charsmap = false, dummy_prefix = true, squeeze = true, escape = true;
};

// Calls take(field) for each field; it gives false for a field of the wrong wire type.
template <class Take>
Status each_field(std::string_view bytes, size_t offset, const Take& take) {
  Message message(bytes, offset);
  Message::Field f;
  while (HONE_TRY(message.next(f)))
    if (!take(f)) return message.damaged(fmt::format("field {} has the wrong type", f.number));
  return Ok{};
}

Status read_piece(const Message::Field& whole, Piece& piece) {
  return each_field(whole.bytes, whole.offset, [&](const Message::Field& f) {
    if (f.number == 1) piece.text = f.bytes, piece.offset = f.offset;
    if (f.number == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(f.value));
    if (f.number == 3) piece.type = f.value;
    return f.number > 3 || f.wire == (f.number == 1 ? 2 : f.number == 2 ? 5 : 0);
  });
}

Status read_trainer(const Message::Field& whole, SentencePieceModel& m) {
  return each_field(whole.bytes, whole.offset, [&](const Message::Field& f) {
    if (f.number == 3) m.model_type = f.value;
    if (f.number == 24) m.space_as_suffix = f.value != 0;
    if (f.number == 35) m.byte_fallback = f.value != 0;
    if (f.number == 41) m.bos = static_cast<int32_t>(f.value);
    if (f.number == 42) m.eos = static_cast<int32_t>(f.value);
    if (f.number == 43) m.pad = static_cast<int32_t>(f.value);
    const bool number =
        f.number == 3 || f.number == 24 || f.number == 35 || (f.number >= 40 && f.number <= 43);
    return !number || f.wire == 0;
  });
}

Status read_normalizer(const Message::Field& whole, SentencePieceModel& m) {
  return each_field(whole.bytes, whole.offset, [&](const Message::Field& f) {
    if (f.number == 1) m.rule = f.bytes;
    if (f.number == 2) m.charsmap = !f.bytes.empty();
    if (f.number == 3) m.dummy_prefix = f.value != 0;
    if (f.number == 4) m.squeeze = f.value != 0;
    if (f.number == 5) m.escape = f.value != 0;
    return f.number > 5 || f.wire == (f.number <= 2 ? 2 : 0);
  });
}

Result<SentencePieceModel> parse_model(std::string_view bytes) {
  SentencePieceModel m;
  Message message(bytes, 0);
  Message::Field f;
  while (HONE_TRY(message.next(f))) {
    if (f.number < 1 || f.number > 3) continue;
    if (f.wire != 2) return message.damaged(fmt::format("field {} has the wrong type", f.number));
    if (f.number == 1) HONE_TRY(read_piece(f, m.pieces.emplace_back()));
    if (f.number == 2) HONE_TRY(read_trainer(f, m));
    if (f.number == 3) HONE_TRY(read_normalizer(f, m));
  }
  if (m.pieces.empty()) return message.damaged("it holds no pieces");
  return m;
}

Status check_kind(const SentencePieceModel& m) {
  std::string what;
  if (m.model_type != 2)
    what = fmt::format(
        "a SentencePiece model of the type {}",
        m.model_type <= 4 ? kModelTypes[m.model_type] : fmt::format("{}", m.model_type));
  else if (m.charsmap)
    what =
        fmt::format("a SentencePiece BPE model with the normalization \"{}\"", lossy_utf8(m.rule));
  else if (m.space_as_suffix || !m.escape)
    what = fmt::format("a SentencePiece BPE model with {}",
                       m.space_as_suffix ? "treat_whitespace_as_suffix" : "escape_whitespaces off");
  if (what.empty()) return Ok{};
  return Error(err::kTokenizerKind, what)
      .todo(
          "hone reads SentencePiece models of the type BPE without normalization (Llama 1 and 2, "
          "Mistral, TinyLlama and their kin); if the model has a tokenizer.json, put it beside");
}

Status check_piece(const Piece& p, size_t id, const Vocabulary& vocabulary) {
  const char* what = p.text.empty()                       ? "is empty"
                     : lossy_utf8(p.text) != p.text       ? "is not UTF-8"
                     : vocabulary.find(p.text)            ? "is there twice"
                     : p.type < kNormal || p.type > kByte ? "is of an unknown type"
                                                          : nullptr;
  if (!what) return Ok{};
  return Error(err::kTokenizerFormat,
               fmt::format("piece {} (\"{}\") {}", id, lossy_utf8(p.text.substr(0, 60)), what))
      .at(fmt::format("byte {}", p.offset))
      .todo("fetch the file again; it may be damaged");
}

std::string prefixed_decoder(bool strip) {
  return fmt::format(
      R"({{"type":"Sequence","decoders":[{{"type":"Replace","pattern":{{"String":"{0}"}},"content":" "}},)"
      R"({{"type":"ByteFallback"}},{{"type":"Fuse"}}{1}]}})",
      kMetaspace, strip ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "");
}

Result<TokenizerParts> read_model(std::string_view bytes, const TokenizerConfig& given) {
  const SentencePieceModel m = HONE_TRY(parse_model(bytes));
  HONE_TRY(check_kind(m));
  BpeParts bpe;
  bpe.byte_level = false;
  bpe.byte_fallback = m.byte_fallback;
  bpe.fuse_unk = true;
  bpe.vocabulary.reserve(m.pieces.size(), bytes.size());
  std::vector<float> scores;
  for (const Piece& p : m.pieces) {
    const size_t id = scores.size();
    HONE_TRY(check_piece(p, id, bpe.vocabulary));
    HONE_TRY(bpe.vocabulary.add(p.text, static_cast<int64_t>(id)));
    const bool merges = p.type == kNormal || p.type == kUserDefined || p.type == kUnused;
    scores.push_back(merges ? p.score : NAN);
    if (p.type == kUnknown) bpe.unk_token = p.text;
  }
  HONE_TRY(merges_from_scores(scores, bpe));

  TokenizerParts parts;
  parts.kind = "SentencePiece BPE";
  TokenizerConfig config = given;
  if (!config.add_bos) config.add_bos = true;
  const bool known_class = config.is_llama();
  HONE_TRY(make_stages(
      known_class ? llama_stages(config) : sentencepiece_stages(m.dummy_prefix, m.squeeze), parts));
  parts.unk = bpe.unk_token;
  parts.model = HONE_TRY(make_bpe(std::move(bpe)));
  const auto piece = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < m.pieces.size()
               ? std::string(m.pieces[static_cast<size_t>(id)].text)
               : std::string();
  };
  parts.bos = piece(m.bos);
  parts.eos = piece(m.eos);
  parts.pad = piece(m.pad);
  for (const Piece& p : m.pieces) {
    if (p.type != kUnknown && p.type != kControl && p.type != kUserDefined) continue;
    AddedToken token;
    token.content = p.text;
    token.special = p.type != kUserDefined;
    parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  HONE_TRY(apply_tokenizer_config(config, parts));
  HONE_TRY(apply_bos_eos(config, parts));
  return parts;
}

}  // namespace

bool is_sentencepiece(std::string_view bytes) {
  return bytes.starts_with('\x0a');  // the first piece
}

Result<TokenizerParts> read_sentencepiece(std::string_view bytes, const std::string& where,
                                          const TokenizerConfig& config) {
  auto parts = read_model(bytes, config);
  if (!parts.ok()) return std::move(parts.error()).at(where);
  return parts;
}

StagesJson sentencepiece_stages(bool prefix, bool squeeze) {
  std::string steps;
  const auto add = [&](const std::string& step) { steps += (steps.empty() ? "" : ",") + step; };
  const auto replace = [&](std::string_view kind, std::string_view pattern, std::string_view by) {
    add(fmt::format(R"({{"type":"Replace","pattern":{{"{}":"{}"}},"content":"{}"}})", kind, pattern,
                    by));
  };
  if (squeeze) {
    replace("Regex", "^ +| +$", "");
    replace("Regex", " {2,}", " ");
  }
  if (prefix) add(fmt::format(R"({{"type":"Prepend","prepend":"{}"}})", kMetaspace));
  replace("String", " ", kMetaspace);
  StagesJson json;
  json.normalizer = fmt::format(R"({{"type":"Sequence","normalizers":[{}]}})", steps);
  json.decoder = prefixed_decoder(prefix);
  return json;
}

StagesJson llama_stages(const TokenizerConfig& config) {
  const bool prefix = config.add_prefix_space.value_or(true);
  const bool legacy = config.legacy_prefix.value_or(false);
  StagesJson json;
  json.pre_tokenizer = fmt::format(
      R"({{"type":"Metaspace","replacement":"{}","prepend_scheme":"{}","split":false}})",
      kMetaspace,
      !prefix  ? "never"
      : legacy ? "always"
               : "first");
  json.decoder = prefixed_decoder(prefix);
  return json;
}

}  // namespace hone
