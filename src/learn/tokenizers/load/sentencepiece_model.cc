#include "learn/tokenizers/load/sentencepiece_model.h"

#include <bit>
#include <cstring>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/text/errors.h"

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
  // The next field; false after the last one.
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

// Calls take(field) for each field; it gives false for a field of the wrong wire type.
template <class Take>
Status each_field(std::string_view bytes, size_t offset, const Take& take) {
  Message message(bytes, offset);
  Message::Field f;
  while (HONE_TRY(message.next(f)))
    if (!take(f)) return message.damaged(fmt::format("field {} has the wrong type", f.number));
  return Ok{};
}

Status read_piece(const Message::Field& whole, SentencePiece& piece) {
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
    if (f.number == 2) m.charsmap = f.bytes;
    if (f.number == 3) m.dummy_prefix = f.value != 0;
    if (f.number == 4) m.squeeze = f.value != 0;
    if (f.number == 5) m.escape = f.value != 0;
    return f.number > 5 || f.wire == (f.number <= 2 ? 2 : 0);
  });
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes) {
  SentencePieceModel m;
  bool settings = false;  // the trainer's, which every file has; without them it is cut off
  Message message(bytes, 0);
  Message::Field f;
  while (HONE_TRY(message.next(f))) {
    if (f.number < 1 || f.number > 3) continue;
    if (f.wire != 2) return message.damaged(fmt::format("field {} has the wrong type", f.number));
    if (f.number == 1) HONE_TRY(read_piece(f, m.pieces.emplace_back()));
    if (f.number == 2) HONE_TRY(read_trainer(f, m));
    settings = settings || f.number == 2;
    if (f.number == 3) HONE_TRY(read_normalizer(f, m));
  }
  if (m.pieces.empty()) return message.damaged("it holds no pieces");
  if (!settings) return message.damaged("it ends before its settings");
  return m;
}

Status check_sentencepiece(const SentencePiece& p, size_t id, const Vocabulary& vocabulary) {
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

}  // namespace hone
