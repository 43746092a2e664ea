#include "learn/tokenizers/bpe.h"

#include <bit>
#include <cstring>
#include <queue>

#include "learn/tokenizers/errors.h"
#include "learn/tokenizers/unicode.h"

namespace hone {
namespace {

// What a pair merges to: rank in the high half, result in the low one, so that the smallest value
// is the pair to merge next. kNoMerge is larger than any.
using Step = uint64_t;
constexpr Step kNoMerge = ~Step{0};

class MergeTable {
 public:
  explicit MergeTable(const std::vector<Merge>& merges)
      : slots_(std::bit_ceil(merges.size() * 2 + 16)), mask_(slots_.size() - 1) {
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const Merge& m = merges[rank];
      const uint64_t key = key_of(m.left, m.right);
      size_t i = home(key);
      while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & mask_;
      slots_[i] = {key, static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(m.result)};
    }
  }

  Step find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].step;
      if (slots_[i].key == kFree) return kNoMerge;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Step step = kNoMerge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t home(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & mask_; }

  std::vector<Slot> slots_;
  size_t mask_;
};

// Ids of pieces seen lately: direct-mapped, so bounded. Holds pieces of up to 16 bytes that become
// up to 3 ids; 32 bytes an entry, half a megabyte in all.
class PieceCache {
 public:
  struct Entry {
    uint64_t low, high;  // together with `length` they give every byte of the piece
    uint8_t length = 0;  // 0 = free
    uint8_t count = 0;
    int32_t ids[3];
  };
  static constexpr size_t kMaxBytes = 16, kMaxIds = 3, kEntries = size_t{1} << 14;

  // The entry where `piece` (1 to kMaxBytes bytes) belongs; hit tells whether it is there. If not,
  // its key is written and the caller fills ids and count.
  Entry& at(std::string_view piece, bool& hit) {
    const char* p = piece.data();
    const size_t n = piece.size();
    uint64_t low = 0, high = 0;
    if (n >= 8) {
      std::memcpy(&low, p, 8);
      std::memcpy(&high, p + n - 8, 8);
    } else if (n >= 4) {
      uint32_t a, b;
      std::memcpy(&a, p, 4);
      std::memcpy(&b, p + n - 4, 4);
      low = a, high = b;
    } else {  // first, middle and last byte are all there is
      low = static_cast<unsigned char>(p[0]) | static_cast<unsigned char>(p[n / 2]) << 8 |
            static_cast<unsigned char>(p[n - 1]) << 16;
    }
    Entry& e = entries_[mix64(low, high ^ n << 56) & (kEntries - 1)];
    hit = e.low == low && e.high == high && e.length == n;
    if (!hit) {
      e.low = low;
      e.high = high;
      e.length = static_cast<uint8_t>(n);
    }
    return e;
  }

 private:
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

struct BpeScratch : ModelScratch {
  PieceCache cache;
  std::vector<int32_t> symbols;
  std::vector<Step> steps;
  std::string spelled;
  struct Node {
    int32_t symbol, previous, next;
  };
  std::vector<Node> nodes;
  std::vector<std::pair<Step, int32_t>> heap;
};

class Bpe : public Model {
 public:
  explicit Bpe(BpeParts parts) : parts_(std::move(parts)), table_(parts_.merges) {
    std::string spelled;
    for (int b = 0; b < 256; ++b) {
      spelled.clear();
      append_utf8(byte_to_char(static_cast<uint8_t>(b)), spelled);
      byte_ids_[b] = parts_.vocabulary.find(spelled).value_or(-1);
    }
    if (!parts_.unk_token.empty()) unk_id_ = parts_.vocabulary.find(parts_.unk_token).value_or(-1);
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    return std::make_unique<BpeScratch>();
  }
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  bool byte_level() const override { return true; }

  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    auto& s = static_cast<BpeScratch&>(scratch);
    if (piece.empty()) return;
    if (piece.size() > PieceCache::kMaxBytes) return encode_new(piece, ids, s);
    bool hit;
    PieceCache::Entry& e = s.cache.at(piece, hit);
    if (hit) {
      ids.insert(ids.end(), e.ids, e.ids + e.count);
      return;
    }
    const size_t before = ids.size();
    encode_new(piece, ids, s);
    const size_t count = ids.size() - before;
    if (count > PieceCache::kMaxIds) {
      e.length = 0;
      return;
    }
    e.count = static_cast<uint8_t>(count);
    std::copy(ids.begin() + static_cast<ptrdiff_t>(before), ids.end(), e.ids);
  }

  std::string to_json() const override;

 private:
  void encode_new(std::string_view piece, std::vector<int32_t>& ids, BpeScratch& s) const {
    if (parts_.ignore_merges) {
      s.spelled.clear();
      append_byte_level(piece, s.spelled);
      if (const auto id = parts_.vocabulary.find(s.spelled)) {
        ids.push_back(*id);
        return;
      }
    }
    s.symbols.clear();
    bool unknown_before = false;
    for (const char c : piece) {
      int32_t id = byte_ids_[static_cast<unsigned char>(c)];
      const bool unknown = id < 0;
      if (unknown) {
        if (unk_id_ < 0 || (unknown_before && parts_.fuse_unk)) continue;
        id = unk_id_;
      }
      s.symbols.push_back(id);
      unknown_before = unknown;
    }
    constexpr size_t kScanLimit = 48;
    if (s.symbols.size() <= kScanLimit)
      merge_by_scan(s);
    else
      merge_by_heap(s);
    ids.insert(ids.end(), s.symbols.begin(), s.symbols.end());
  }

  void merge_by_scan(BpeScratch& s) const {
    std::vector<int32_t>& sym = s.symbols;
    std::vector<Step>& step = s.steps;  // step[i] merges sym[i] with sym[i + 1]
    size_t n = sym.size();
    if (n < 2) return;
    step.resize(n);
    for (size_t i = 0; i + 1 < n; ++i) step[i] = table_.find(sym[i], sym[i + 1]);
    while (n > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < n; ++i)
        if (step[i] < step[best]) best = i;
      if (step[best] == kNoMerge) break;
      sym[best] = static_cast<int32_t>(step[best] & 0xffffffffu);
      for (size_t i = best + 1; i + 1 < n; ++i) {
        sym[i] = sym[i + 1];
        step[i] = step[i + 1];
      }
      --n;
      if (best > 0) step[best - 1] = table_.find(sym[best - 1], sym[best]);
      if (best + 1 < n) step[best] = table_.find(sym[best], sym[best + 1]);
    }
    sym.resize(n);
  }

  void merge_by_heap(BpeScratch& s) const {
    const auto n = static_cast<int32_t>(s.symbols.size());
    auto& nodes = s.nodes;
    auto& heap = s.heap;
    nodes.resize(s.symbols.size());
    heap.clear();
    for (int32_t i = 0; i < n; ++i) nodes[i] = {s.symbols[i], i - 1, i + 1 < n ? i + 1 : -1};
    const auto later = std::greater<>{};  // smallest step first, then the leftmost
    const auto step_at = [&](int32_t i) {
      const int32_t next = nodes[i].next;
      return next < 0 ? kNoMerge : table_.find(nodes[i].symbol, nodes[next].symbol);
    };
    for (int32_t i = 0; i + 1 < n; ++i)
      if (const Step step = step_at(i); step != kNoMerge) heap.emplace_back(step, i);
    std::make_heap(heap.begin(), heap.end(), later);
    const auto push = [&](int32_t i) {
      if (const Step step = step_at(i); step != kNoMerge) {
        heap.emplace_back(step, i);
        std::push_heap(heap.begin(), heap.end(), later);
      }
    };
    while (!heap.empty()) {
      const auto [step, i] = heap.front();
      std::pop_heap(heap.begin(), heap.end(), later);
      heap.pop_back();
      // Entries of pairs that are gone stay in the heap; a live one still has its step.
      if (nodes[i].symbol < 0 || step_at(i) != step) continue;
      const int32_t right = nodes[i].next;
      nodes[i].symbol = static_cast<int32_t>(step & 0xffffffffu);
      nodes[i].next = nodes[right].next;
      nodes[right].symbol = -1;
      if (nodes[i].next >= 0) nodes[nodes[i].next].previous = i;
      push(i);
      if (nodes[i].previous >= 0) push(nodes[i].previous);
    }
    s.symbols.clear();
    for (int32_t i = 0; i >= 0; i = nodes[i].next) s.symbols.push_back(nodes[i].symbol);
    if (nodes.capacity() > kKeptNodes) {  // a rare giant must not pin its memory
      std::vector<BpeScratch::Node>().swap(nodes);
      std::vector<std::pair<Step, int32_t>>().swap(heap);
      s.symbols.shrink_to_fit();
    }
  }
  static constexpr size_t kKeptNodes = size_t{1} << 16;

  BpeParts parts_;
  MergeTable table_;
  std::array<int32_t, 256> byte_ids_;
  int32_t unk_id_ = -1;
};

std::string Bpe::to_json() const {
  const Vocabulary& v = parts_.vocabulary;
  std::string out = fmt::format(
      "{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":{},\"continuing_subword_prefix\":null,"
      "\"end_of_word_suffix\":null,\"fuse_unk\":{},\"byte_fallback\":false,\"ignore_merges\":{},"
      "\n\"vocab\":{{",
      parts_.unk_token.empty() ? "null" : json_quote(parts_.unk_token), parts_.fuse_unk,
      parts_.ignore_merges);
  const char* separator = "\n";
  for (int64_t id = 0; id < v.id_limit(); ++id) {
    const auto token = v.token(id);
    if (!token) continue;
    fmt::format_to(std::back_inserter(out), "{}{}:{}", separator, json_quote(*token), id);
    separator = ",\n";
  }
  out += "},\n\"merges\":[";
  separator = "\n";
  for (const Merge& m : parts_.merges) {
    fmt::format_to(std::back_inserter(out), "{}[{},{}]", separator,
                   json_quote(v.token(m.left).value_or("")),
                   json_quote(v.token(m.right).value_or("")));
    separator = ",\n";
  }
  return out + "]}";
}

}  // namespace

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

Result<std::unique_ptr<Model>> make_bpe(BpeParts parts) {
  if (!parts.unk_token.empty() && !parts.vocabulary.find(parts.unk_token))
    return Error(err::kTokenizerVocabulary,
                 fmt::format("the unknown token \"{}\" is not in the vocabulary", parts.unk_token));
  return std::unique_ptr<Model>(std::make_unique<Bpe>(std::move(parts)));
}

}  // namespace hone
