#include "learn/tokenizers/stages/bpe_merge.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace hone {
namespace {

constexpr size_t kScanLimit = 48;                    // symbols; above it a heap is faster
constexpr size_t kKeptMergeNodes = size_t{1} << 16;  // a rare giant must not pin its memory
inline uint32_t rank_of(MergeStep step) { return static_cast<uint32_t>(step >> 32); }

void merge_by_scan(const MergeTable& table, BpeScratch& s) {
  std::vector<int32_t>& sym = s.symbols;
  std::vector<MergeStep>& step = s.steps;  // step[i] merges sym[i] with sym[i + 1]
  size_t n = sym.size();
  if (n < 2) return;
  step.resize(n);
  for (size_t i = 0; i + 1 < n; ++i) step[i] = table.find(sym[i], sym[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (rank_of(step[i]) < rank_of(step[best])) best = i;
    if (step[best] == kNoMerge) break;
    sym[best] = static_cast<int32_t>(step[best] & 0xffffffffu);
    for (size_t i = best + 1; i + 1 < n; ++i) {
      sym[i] = sym[i + 1];
      step[i] = step[i + 1];
    }
    --n;
    if (best > 0) step[best - 1] = table.find(sym[best - 1], sym[best]);
    if (best + 1 < n) step[best] = table.find(sym[best], sym[best + 1]);
  }
  sym.resize(n);
}

void merge_by_heap(const MergeTable& table, BpeScratch& s) {
  const auto n = static_cast<int32_t>(s.symbols.size());
  auto& nodes = s.nodes;
  auto& heap = s.heap;
  nodes.resize(s.symbols.size());
  heap.clear();
  for (int32_t i = 0; i < n; ++i) nodes[i] = {s.symbols[i], i - 1, i + 1 < n ? i + 1 : -1};
  const auto later = std::greater<>{};  // smallest rank first, then the leftmost
  const auto step_at = [&](int32_t i) {
    const int32_t next = nodes[i].next;
    return next < 0 ? kNoMerge : table.find(nodes[i].symbol, nodes[next].symbol);
  };
  const auto entry = [](MergeStep step, int32_t i) {
    return static_cast<uint64_t>(rank_of(step)) << 32 | static_cast<uint32_t>(i);
  };
  for (int32_t i = 0; i + 1 < n; ++i)
    if (const MergeStep step = step_at(i); step != kNoMerge) heap.push_back(entry(step, i));
  std::make_heap(heap.begin(), heap.end(), later);
  const auto push = [&](int32_t i) {
    if (const MergeStep step = step_at(i); step != kNoMerge) {
      heap.push_back(entry(step, i));
      std::push_heap(heap.begin(), heap.end(), later);
    }
  };
  while (!heap.empty()) {
    const uint64_t top = heap.front();
    const auto i = static_cast<int32_t>(top & 0xffffffffu);
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    // Entries of pairs that are gone stay in the heap; a live one still has its rank.
    if (nodes[i].symbol < 0) continue;
    const MergeStep step = step_at(i);
    if (step == kNoMerge || entry(step, i) != top) continue;
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
  if (nodes.capacity() > kKeptMergeNodes) {
    std::vector<BpeScratch::Node>().swap(nodes);
    std::vector<uint64_t>().swap(heap);
    s.symbols.shrink_to_fit();
  }
}

}  // namespace

MergeTable::MergeTable(std::span<const Merge> merges, std::span<const int32_t> ranks)
    : slots_(std::bit_ceil(merges.size() * 2 + 16)), mask_(slots_.size() - 1) {
  for (size_t i = 0; i < merges.size(); ++i) {
    const Merge& m = merges[i];
    const uint64_t rank = ranks.empty() ? i : static_cast<uint64_t>(ranks[i]);
    const uint64_t key = key_of(m.left, m.right);
    size_t at = home(key);
    while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask_;
    slots_[at] = {key, rank << 32 | static_cast<uint32_t>(m.result)};
  }
}

void merge_symbols(const MergeTable& table, BpeScratch& scratch) {
  if (scratch.symbols.size() <= kScanLimit)
    merge_by_scan(table, scratch);
  else
    merge_by_heap(table, scratch);
}

}  // namespace hone
