// Products of rows by group (experts). A product is cut into units, each a group's rows times some columns. Threads
// take the units one by one, and each multiplies its unit alone: no thread waits for another before the end, whatever
// the numbers of rows of the groups.
#include <algorithm>
#include <atomic>

#include "engine/backends/cpu/backend_blocks.h"

namespace hone::cpu {
namespace {

const void* element(const void* from, Element type, int64_t index) {
  return static_cast<const char*>(from) + index * element_bytes(type);
}

int64_t parts_of(int64_t count, int64_t width) { return (count + width - 1) / width; }

// f(group, unit, thread) for each unit of each group, which has count(group) units.
template <class Count, class F>
void for_units(ThreadPool& pool, int64_t groups, Count&& count, F&& f) {
  std::atomic<int64_t> next{0};
  pool.run([&](int thread) {
    int64_t group = 0, before = 0;  // units of the groups before
    for (;;) {
      const int64_t unit = next.fetch_add(1, std::memory_order_relaxed);
      while (group < groups && unit - before >= count(group)) before += count(group++);
      if (group == groups) return;
      f(group, unit - before, thread);
    }
  });
}

// The pool of a thread that multiplies alone.
ThreadPool& alone() {
  static thread_local ThreadPool one(1);
  return one;
}

constexpr int64_t kUnitRows = 1024;  // each unit packs its part of a weight
constexpr int64_t kUnitColumns = 1024;
constexpr int64_t kColumnStep = 96;    // whole tiles of every instruction set: cuts change no bit
constexpr int64_t kUnitsOfThread = 8;  // threads end at about the same time

// Columns of a unit. Narrow units repeat the packing of rows, so there are no more than the threads need.
int64_t unit_columns(int64_t columns, int64_t groups, int threads) {
  const int64_t shared = threads == 1 ? 1 : kUnitsOfThread * threads,
                parts = std::max(parts_of(columns, kUnitColumns),
                                 parts_of(shared, std::max<int64_t>(1, groups)));
  return parts_of(parts_of(columns, parts), kColumnStep) * kColumnStep;
}

// The weights of groups in blocks: a unit has all rows of its group, and widens its part of the weights once.
struct GroupBlocks {
  BlockOperands operands;
  int64_t bytes = 0;  // of a part in f32; 0: the weights are floats

  // The part of group e for `call`, whose first column is `column`, in `to`.
  void widen(const KernelArgs& a, Gemm& call, int64_t all_columns, int64_t e, int64_t column,
             float* to) const {
    const Blocks blocks = operands.of(a);
    if (call.trans_b)
      widen_part(blocks, a.in[1], e * all_columns + column, call.n, 0, call.k, to);
    else
      widen_part(blocks, a.in[1], e * call.k, call.k, column, call.n, to);
    call.b = to;
    call.ldb = call.trans_b ? call.k : call.n;
  }
};

// The types of both operands of the product.
Status set_types(const NodeView& n, Gemm& g, bool in_blocks) {
  g.bf16 = n.flag("bf16");
  g.f16 = n.flag("f16");
  g.a_type = HONE_TRY(rounded_operand(n, 0));
  const bool widens = !g.bf16 && !g.f16 && n.in(1).dtype == DType::bf16;
  if (!in_blocks) g.b_type = widens ? Element::bf16 : HONE_TRY(rounded_operand(n, 1));
  return Ok{};
}

// The product of all groups in units of rows and columns of a group.
struct GroupUnits {
  Gemm g;  // of all columns
  bool in_blocks = false;
  GroupBlocks weights;
  int64_t width = 0, rows = 0;  // of a unit
  int64_t height = 0;           // rows that are multiplied at once
  int64_t gemm_bytes = 0;

  int64_t across() const { return parts_of(g.n, width); }
  int64_t count(const int32_t* starts, int64_t e) const {
    return parts_of(starts[e + 1] - starts[e], rows) * across();
  }
  int64_t bytes() const { return gemm_bytes + weights.bytes; }  // of the workspace of a thread

  void multiply(const KernelArgs& a, int64_t e, int64_t unit, char* own) const {
    const int32_t* starts = in_i32(a, 2);
    const int64_t first = starts[e] + unit / across() * rows,
                  last = std::min<int64_t>(first + rows, starts[e + 1]),
                  column = unit % across() * width;
    Gemm call = g;
    call.n = std::min(width, g.n - column);
    if (in_blocks)
      weights.widen(a, call, g.n, e, column, reinterpret_cast<float*>(own + gemm_bytes));
    else
      call.b = element(a.in[1], g.b_type, e * g.k * g.n + column * (g.trans_b ? g.ldb : 1));
    for (int64_t row = first; row < last; row += height) {
      call.m = std::min(height, last - row);
      call.a = element(a.in[0], g.a_type, row * g.k);
      call.c = out(a, 0) + row * g.n + column;
      gemm(call, own, alone());
    }
  }
};

// Groups have other numbers of rows in each step. All take the path of their mean, so that the bits of a row
// depend neither on the rows beside it nor on their number; a few rows in all are multiplied one by one.
Result<Kernel> multiplied_groups(const NodeView& n, int threads) {
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  const int64_t rows = n.in(0).shape[0], groups = n.in(2).shape[0] - 1;
  GroupUnits units;
  units.in_blocks = n.node.op->name == "grouped_blocks";
  if (units.in_blocks) units.weights.operands = HONE_TRY(block_operands(n, n.in(1).shape));
  Gemm& g = units.g;
  g.k = n.in(0).shape[1];
  g.n = n.out(0).shape[1];
  g.trans_b = n.flag("trans_w");
  g.lda = g.k;
  g.ldb = g.trans_b ? g.k : g.n;
  g.ldc = g.n;
  HONE_TRY(set_types(n, g, units.in_blocks));
  const bool one_by_one = rows <= kGemmSmallRows && !g.bf16 && !g.f16;
  if (!one_by_one) g.rows_like = std::max(rows / groups, kGemmSmallRows + 1);
  units.height = one_by_one ? 1 : std::clamp<int64_t>(rows, 1, kUnitRows);
  units.rows = units.in_blocks ? std::max<int64_t>(rows, 1) : units.height;
  units.width = unit_columns(g.n, groups, threads);
  Gemm sized = g;
  sized.n = std::min(units.width, g.n);
  for (const int64_t m : {units.height, std::min(units.height, kGemmFewRows)}) {
    sized.m = m;
    units.gemm_bytes = std::max(units.gemm_bytes, whole_lines(gemm_workspace_bytes(sized, 1)));
  }
  sized.m = units.height;
  const GemmSums sums = gemm_sums(sized);
  if (units.in_blocks) units.weights.bytes = whole_lines(4 * sized.n * g.k);
  const std::string kept = units.in_blocks                        ? "." + n.text("scheme")
                           : g.b_type == Element::bf16 && !g.bf16 ? ".bf16"
                                                                  : "";
  return Kernel{fmt::format("cpu.grouped_matmul{}{}.k{}{}", *sums.parts ? "_" : "", sums.parts,
                            sums.block_k, kept),
                units.bytes() * threads, [=](const KernelArgs& a) {
                  const auto count = [&](int64_t e) { return units.count(in_i32(a, 2), e); };
                  for_units(pool_of(a), groups, count, [&](int64_t e, int64_t unit, int thread) {
                    units.multiply(a, e, unit,
                                   static_cast<char*>(a.workspace) + thread * units.bytes());
                  });
                }};
}

Result<Kernel> outer_groups(const NodeView& n, int threads) {
  if (n.out(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  const int64_t rows = n.in(0).shape[0], groups = n.out(0).shape[0];
  Gemm g;
  g.trans_a = true;
  g.m = g.lda = n.in(0).shape[1];
  g.n = g.ldb = g.ldc = n.in(1).shape[1];
  g.bf16 = n.flag("bf16");
  g.f16 = n.flag("f16");
  g.a_type = HONE_TRY(rounded_operand(n, 0));
  g.b_type = HONE_TRY(rounded_operand(n, 1));
  g.accumulate = n.has("acc");
  const size_t acc = n.slot("acc");
  const int64_t width = unit_columns(g.n, groups, threads);
  // Blocks of k are equal parts of it: those of a smaller k may be larger.
  Gemm sized = g;
  sized.n = std::min(width, g.n);
  int64_t bytes = 0;
  for (const int64_t k : {rows, std::min(rows, kGemmBlockK), std::min(rows, kGemmBf16BlockK)}) {
    sized.k = k;
    bytes = std::max(bytes, whole_lines(gemm_workspace_bytes(sized, 1)));
  }
  const GemmSums sums = gemm_sums(sized);
  return Kernel{
      fmt::format("cpu.grouped_outer{}{}.k{}", *sums.parts ? "_" : "", sums.parts, sums.block_k),
      bytes * threads, [=](const KernelArgs& a) {
        const int32_t* starts = in_i32(a, 2);
        if (g.accumulate) copy_if_apart(a, acc, 0, groups * g.m * g.n);
        const int64_t across = parts_of(g.n, width);
        for_units(
            pool_of(a), groups, [&](int64_t) { return across; },
            [&](int64_t e, int64_t unit, int thread) {
              const int64_t column = unit * width;
              Gemm call = g;
              call.k = starts[e + 1] - starts[e];
              call.n = std::min(width, g.n - column);
              call.a = element(a.in[0], g.a_type, starts[e] * g.m);
              call.b = element(a.in[1], g.b_type, starts[e] * g.n + column);
              call.c = out(a, 0) + e * g.m * g.n + column;
              gemm(call, static_cast<char*>(a.workspace) + thread * bytes, alone());
            });
      }};
}

}  // namespace

Makers grouped_makers() {
  return {{"grouped_matmul", multiplied_groups},
          {"grouped_blocks", multiplied_groups},
          {"grouped_outer", outer_groups}};
}

}  // namespace hone::cpu
