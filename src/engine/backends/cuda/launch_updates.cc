// Launches of optimizers over lists of tensors, and of the norm of all gradients.
#include <array>
#include <cstddef>

#include "base/core/dynamic_map.h"
#include "engine/backends/cuda/update_tensors.h"
#include "engine/ops/update_parts.h"

namespace hone::cuda {
namespace {

double number(const NodeView& n, const char* name) {
  return n.node.op->attr(name) != nullptr ? n.real(name) : 0;
}
bool is_set(const NodeView& n, const char* name) {
  return n.node.op->attr(name) != nullptr && n.flag(name);
}

Update rule_of(const NodeView& n, Rule rule) {
  Update u{};
  u.rule = rule;
  u.beta1 = number(n, "beta1");
  u.beta2 = number(n, "beta2");
  u.eps = number(n, "eps");
  u.momentum = number(n, "momentum");
  u.dampening = number(n, "dampening");
  u.lr_decay = number(n, "lr_decay");
  u.alpha = number(n, "alpha");
  u.l2 = is_set(n, "l2");
  u.huggingface = is_set(n, "huggingface");
  u.nesterov = is_set(n, "nesterov");
  return u;
}

void add_scalars(Launch& l, const NodeView& n, Rule rule) {
  l.in(n.slot("lr")).in(n.slot("step")).in(n.slot("g_scale"));
  rule == Rule::adamw ? l.work() : l.none();
}
// Has the launch that makes them, if the rule needs it.
Launches begin_updates(const NodeView& n, Rule rule) {
  if (rule != Rule::adamw) return {};
  Launches all = one(powers_launch(n));
  all.workspace_bytes = kPowerBytes;
  return all;
}

// Calls visit(part, update) for each tensor; the launches are those that come before the updates.
template <class Visit>
Result<Launches> over_tensors(const NodeView& n, Rule rule, Visit visit) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const std::vector<int64_t>&rows = n.integers("rows"), &keys = n.integers("round_keys");
  Launches all = begin_updates(n, rule);
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i);
    if (!is_one_of(p.dtype, {DType::f32, DType::bf16}) || !is_fused(g.dtype))
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    const int64_t row = p.count() / std::max<int64_t>(1, p.rank() == 0 ? 1 : p.shape[0]);
    const UpdatedPart part{i, count + i, rows.empty() ? 0 : rows[0] * row,
                           rows.empty() ? p.count() : (rows[1] - rows[0]) * row};
    // The other rows of p' are those of p.
    if (part.size != p.count()) all.launches.push_back(copy_if_apart(n, i, i));
    if (part.size == 0) continue;
    Update u = rule_of(n, rule);
    u.decay = weight_decay_of(n, i);
    u.stochastic = !keys.empty();
    u.key = keys.empty() ? 0 : static_cast<uint64_t>(keys[i]);
    u.first = static_cast<uint64_t>(part.first);
    visit(part, u);
  }
  return all;
}

void add_weights(Launch& l, const NodeView& n, const UpdatedPart& part) {
  l.in(part.i, part.first * size_of(n.in(part.i).dtype));
  l.in(part.g, part.first * size_of(n.in(part.g).dtype));
}
// lists: as for UpdateTensors.
Result<Launches> by_element(const NodeView& n, Rule rule, const std::array<int, 3>& lists) {
  const auto count = static_cast<size_t>(n.integer("count"));
  for (size_t i = 0; i < count; ++i)
    for (const int list : lists)
      if (list >= 0 && n.in((2 + static_cast<size_t>(list)) * count + i).dtype != n.in(i).dtype)
        return no_kernel(n, "states have another type than weights");
  std::vector<UpdateTensors> all;
  Launches made = HONE_TRY(over_tensors(n, rule, [&](const UpdatedPart& part, const Update& u) {
    if (all.empty() || !all.back().takes(part)) all.emplace_back(n, part, u);
    all.back().add(part, u, lists);
  }));
  for (const UpdateTensors& tensors : all) {
    Launch l(fmt::format("{}_{}_{}", rule == Rule::adamw ? "adamw" : "update",
                         name_of(tensors.weights()), name_of(tensors.gradients())));
    add_scalars(l, n, rule);
    l.argument(tensors.argument()).grid_x = tensors.blocks();
    made.launches.push_back(std::move(l));
  }
  return made;
}

FourBits four_bits(bool is_signed) {
  FourBits made{};
  const FourBitMap& map = four_bit_map(is_signed);
  std::copy_n(map.values, 16, made.of);
  std::copy_n(map.above, 15, made.above);
  return made;
}

// `bits`: of a code, 8 or 4.
Result<Launches> in_codes(const NodeView& n, Rule rule, int bits) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const size_t lists = rule == Rule::adamw ? 4 : 2;      // codes and magnitudes of each moment
  const int64_t each = bits == 4 ? 4 * kBlock : kBlock;  // elements of a thread block
  for (size_t i = 0; i < count; ++i)
    if (n.in(i).count() / each >= 0x7fffffff) return no_kernel(n, "more than 2^31 blocks");
  std::vector<Launch> updates;
  Launches all = HONE_TRY(over_tensors(n, rule, [&](const UpdatedPart& part, const Update& u) {
    Launch l(fmt::format("update_{}bit_{}_{}", bits, name_of(n.in(part.i).dtype),
                         name_of(n.in(part.g).dtype)));
    add_weights(l, n, part);
    for (size_t list = 0; list < 4; ++list)
      list < lists ? l.in((2 + list) * count + part.i) : l.none();
    add_scalars(l, n, rule);
    l.out(part.i, part.first * size_of(n.in(part.i).dtype));
    for (size_t list = 0; list < 4; ++list)
      list < lists ? l.out((1 + list) * count + part.i) : l.none();
    l.value(part.size).value(u);
    bits == 4 ? l.value(four_bits(true)).value(four_bits(false))
              : l.value(map_of(true)).value(map_of(false));
    l.grid_x = static_cast<unsigned>((part.size + each - 1) / each);
    updates.push_back(std::move(l));
  }));
  for (Launch& l : updates) all.launches.push_back(std::move(l));
  return all;
}

Result<Launches> rmsprop(const NodeView& n) {
  const int means = n.flag("centered") ? 1 : -1;
  const int buffers = n.real("momentum") == 0 ? -1 : n.flag("centered") ? 2 : 1;
  return by_element(n, Rule::rmsprop, {0, means, buffers});
}

// Parts of all tensors, then their sums. The order depends on the sizes alone.
Result<Launches> sum_squares(const NodeView& n) {
  Launches all;
  const auto count = static_cast<int64_t>(n.inputs());
  const auto blocks_of = [&](size_t i) {
    return std::max<int64_t>(1, (n.in(i).count() + kSquared - 1) / kSquared);
  };
  int64_t parts = 0;
  for (size_t i = 0; i < n.inputs(); ++i) parts += blocks_of(i);
  if (parts > 0x7fffffff) return no_kernel(n, "more than 2^31 parts");
  const int64_t begins = whole_part(parts * 8);
  all.workspace_bytes = begins + (count + 1) * 4;
  int64_t done = 0;
  for (size_t first = 0; first < n.inputs(); first += kMostSquared) {
    Squares s{};
    s.count = static_cast<int>(std::min<size_t>(kMostSquared, n.inputs() - first));
    s.first_tensor = static_cast<int>(first);
    s.first_part = static_cast<int>(done);
    std::vector<LaunchArgument::Address> addresses;
    for (size_t i = 0; i < static_cast<size_t>(s.count); ++i) {
      const Type& x = n.in(first + i);
      s.of[i] = {nullptr, x.count(), s.blocks, element_of(x.dtype)};
      s.blocks += static_cast<int>(blocks_of(first + i));
      addresses.push_back({offsetof(Squares, of) + i * sizeof(SquareTensor),
                           LaunchArgument::Of::input, first + i, 0});
    }
    done += s.blocks;
    Launch squares("square_parts");
    LaunchArgument table = LaunchArgument::of_value(s);
    table.addresses = std::move(addresses);
    squares.work().work(begins).argument(std::move(table));
    squares.grid_x = static_cast<unsigned>(s.blocks);
    all.launches.push_back(std::move(squares));
  }
  Launch add("add_square_parts");
  add.work().work(begins).out(0).value(count).over(count * kWarp);
  all.launches.push_back(std::move(add));
  return all;
}

Result<Launches> clip_scale(const NodeView& n) {
  const size_t loss = n.slot("loss"), loss_scale = n.slot("loss_scale");
  if (n.has(loss) && n.in(loss).dtype != DType::f32) return no_kernel(n, "a loss in f32 is wanted");
  Launch l("clip_scale");
  l.in(0);
  n.has(loss_scale) ? l.in(loss_scale) : l.none();
  n.has(loss) ? l.in(loss) : l.none();
  l.out(0).out(1).value(n.in(0).count()).value(n.real("max_norm"));
  return one(std::move(l));
}

Result<Launches> halves(const NodeView& n) {
  const int64_t count = n.in(0).count();
  if (n.in(0).dtype != DType::f32) return no_kernel(n, "for f32 only");
  Launch l(n.flag("joined") ? "join_halves" : "split_halves");
  l.in(0).out(0).value(count).over(count);
  return one(std::move(l));
}

}  // namespace

void add_updates(LaunchTable& t) {
  t["adamw"] = [](const NodeView& n) { return by_element(n, Rule::adamw, {0, 1, -1}); };
  t["adagrad"] = [](const NodeView& n) { return by_element(n, Rule::adagrad, {0, -1, -1}); };
  t["lion"] = [](const NodeView& n) { return by_element(n, Rule::lion, {0, -1, -1}); };
  t["sgd"] = [](const NodeView& n) {
    return by_element(n, Rule::sgd, {-1, -1, n.real("momentum") == 0 ? -1 : 0});
  };
  t["rmsprop"] = rmsprop;
  t["adamw_8bit"] = [](const NodeView& n) { return in_codes(n, Rule::adamw, 8); };
  t["adamw_4bit"] = [](const NodeView& n) { return in_codes(n, Rule::adamw, 4); };
  t["lion_8bit"] = [](const NodeView& n) { return in_codes(n, Rule::lion, 8); };
  t["sum_squares"] = sum_squares;
  t["clip_scale"] = clip_scale;
  t["halves"] = halves;
}

}  // namespace hone::cuda
