// Launches of optimizers over lists of tensors, and of the norm of all gradients.
#include <array>
#include <cstddef>

#include "engine/backends/cuda/launch_tables.h"

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

// One of the tensors that a node updates: its elements [first, first + size), to which its states
// belong.
struct Part {
  size_t i = 0, g = 0;
  int64_t first = 0, size = 0;
};

// The powers of adamw are at the beginning of the workspace.
constexpr int64_t kPowerBytes = 2 * sizeof(double);
void add_scalars(Launch& l, const NodeView& n, Rule rule) {
  l.in(n.slot("lr")).in(n.slot("step")).in(n.slot("g_scale"));
  rule == Rule::adamw ? l.work() : l.none();
}
// Has the launch that makes them, if the rule needs it.
Launches begin_updates(const NodeView& n, Rule rule) {
  if (rule != Rule::adamw) return {};
  Launch l("update_powers");
  l.in(n.slot("step")).work().value(n.real("beta1")).value(n.real("beta2"));
  l.block_x = kWarp;
  Launches all = one(std::move(l));
  all.workspace_bytes = kPowerBytes;
  return all;
}

// Calls visit(part, update) for each tensor; the launches are those that come before the updates.
template <class Visit>
Result<Launches> over_tensors(const NodeView& n, Rule rule, Visit visit) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const std::vector<int64_t>&decays = n.integers("decay"), &rows = n.integers("rows");
  const std::vector<int64_t>& keys = n.integers("round_keys");
  Launches all = begin_updates(n, rule);
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i);
    if (!is_one_of(p.dtype, {DType::f32, DType::bf16}) || !is_fused(g.dtype))
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    const int64_t row = p.count() / std::max<int64_t>(1, p.rank() == 0 ? 1 : p.shape[0]);
    const Part part{i, count + i, rows.empty() ? 0 : rows[0] * row,
                    rows.empty() ? p.count() : (rows[1] - rows[0]) * row};
    // The other rows of p' are those of p.
    if (part.size != p.count()) all.launches.push_back(copy_if_apart(n, i, i));
    if (part.size == 0) continue;
    Update u = rule_of(n, rule);
    u.decay = decays.empty() || decays[i] != 0 ? n.real("weight_decay") : 0;
    u.stochastic = !keys.empty();
    u.key = keys.empty() ? 0 : static_cast<uint64_t>(keys[i]);
    u.first = static_cast<uint64_t>(part.first);
    visit(part, u);
  }
  return all;
}

void add_weights(Launch& l, const NodeView& n, const Part& part) {
  l.in(part.i, part.first * size_of(n.in(part.i).dtype));
  l.in(part.g, part.first * size_of(n.in(part.g).dtype));
}
bool has_copies(const NodeView& n) {
  return n.node.op->attr("copied") != nullptr && !n.integers("copied").empty();
}
// The result that is the copy of p' of tensor i, or -1.
int copy_of(const NodeView& n, size_t i) {
  if (!has_copies(n)) return -1;
  const std::vector<int64_t>& copied = n.integers("copied");
  const auto found = std::find(copied.begin(), copied.end(), static_cast<int64_t>(i));
  return found == copied.end()
             ? -1
             : static_cast<int>(n.node.out.size()) - static_cast<int>(copied.end() - found);
}

// Tensors of a launch, whose addresses are filled in when it starts.
class Many {
 public:
  Many(const NodeView& n, const Part& part, const Update& rule)
      : n_(n), p_(n.in(part.i).dtype), g_(n.in(part.g).dtype) {
    all_.rule = rule;
    all_.copies_f16 = has_copies(n) && n.text("copied_as") == "f16";
  }
  bool takes(const Part& part) const {
    return all_.count < kMostUpdated && n_.in(part.i).dtype == p_ && n_.in(part.g).dtype == g_;
  }
  // lists: which list of states each of the kernel's three is; -1: none.
  void add(const Part& part, const Update& u, const std::array<int, 3>& lists) {
    const auto count = static_cast<size_t>(n_.integer("count"));
    const auto index = static_cast<size_t>(all_.count++);
    UpdateTensor& t = all_.of[index];
    t.size = part.size;
    t.decay = u.decay;
    t.key = u.key;
    t.first = u.first;
    t.first_block = blocks_;
    blocks_ += (part.size + kUpdated - 1) / kUpdated;
    const auto at = [&](size_t member) {
      return offsetof(Updates, of) + index * sizeof(UpdateTensor) + member;
    };
    const auto operand = [&](size_t member, size_t i, int64_t offset) {
      addresses_.push_back({at(member), LaunchArgument::Of::input, i, offset});
    };
    const auto result = [&](size_t member, size_t k, int64_t offset) {
      addresses_.push_back({at(member), LaunchArgument::Of::output, k, offset});
    };
    const int64_t first = part.first * size_of(p_);
    operand(offsetof(UpdateTensor, p), part.i, first);
    operand(offsetof(UpdateTensor, g), part.g, part.first * size_of(g_));
    result(offsetof(UpdateTensor, new_p), part.i, first);
    for (size_t m = 0; m < lists.size(); ++m) {
      if (lists[m] < 0) continue;
      const auto list = static_cast<size_t>(lists[m]);
      operand(offsetof(UpdateTensor, states) + m * sizeof(void*), (2 + list) * count + part.i, 0);
      result(offsetof(UpdateTensor, new_states) + m * sizeof(void*), (1 + list) * count + part.i,
             0);
    }
    if (const int copy = copy_of(n_, part.i); copy >= 0)
      result(offsetof(UpdateTensor, copy), static_cast<size_t>(copy), 0);
  }
  Launch launch() const {
    Launch l(fmt::format("{}_{}_{}", all_.rule.rule == Rule::adamw ? "adamw" : "update",
                         name_of(p_), name_of(g_)));
    add_scalars(l, n_, all_.rule.rule);
    LaunchArgument all = LaunchArgument::of_value(all_);
    all.addresses = addresses_;
    l.argument(std::move(all));
    l.grid_x = static_cast<unsigned>(blocks_);
    return l;
  }

 private:
  const NodeView& n_;
  DType p_, g_;
  Updates all_{};
  int64_t blocks_ = 0;
  std::vector<LaunchArgument::Address> addresses_;
};

// lists: as for Many.
Result<Launches> by_element(const NodeView& n, Rule rule, const std::array<int, 3>& lists) {
  const auto count = static_cast<size_t>(n.integer("count"));
  for (size_t i = 0; i < count; ++i)
    for (const int list : lists)
      if (list >= 0 && n.in((2 + static_cast<size_t>(list)) * count + i).dtype != n.in(i).dtype)
        return no_kernel(n, "states have another type than weights");
  std::vector<Many> all;
  Launches made = HONE_TRY(over_tensors(n, rule, [&](const Part& part, const Update& u) {
    if (all.empty() || !all.back().takes(part)) all.emplace_back(n, part, u);
    all.back().add(part, u, lists);
  }));
  for (const Many& one : all) made.launches.push_back(one.launch());
  return made;
}

Result<Launches> in_8bit(const NodeView& n, Rule rule) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const size_t lists = rule == Rule::adamw ? 4 : 2;  // codes and absmax of each moment
  for (size_t i = 0; i < count; ++i)
    if (n.in(i).count() / 256 >= 0x7fffffff) return no_kernel(n, "more than 2^31 blocks");
  std::vector<Launch> updates;
  Launches all = HONE_TRY(over_tensors(n, rule, [&](const Part& part, const Update& u) {
    Launch l(
        fmt::format("update_8bit_{}_{}", name_of(n.in(part.i).dtype), name_of(n.in(part.g).dtype)));
    add_weights(l, n, part);
    for (size_t list = 0; list < 4; ++list)
      list < lists ? l.in((2 + list) * count + part.i) : l.none();
    add_scalars(l, n, rule);
    l.out(part.i, part.first * size_of(n.in(part.i).dtype));
    for (size_t list = 0; list < 4; ++list)
      list < lists ? l.out((1 + list) * count + part.i) : l.none();
    l.value(part.size).value(u).value(map_of(true)).value(map_of(false));
    l.grid_x = static_cast<unsigned>((part.size + kBlock - 1) / kBlock);
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

}  // namespace

void add_updates(LaunchTable& t) {
  t["adamw"] = [](const NodeView& n) { return by_element(n, Rule::adamw, {0, 1, -1}); };
  t["adagrad"] = [](const NodeView& n) { return by_element(n, Rule::adagrad, {0, -1, -1}); };
  t["lion"] = [](const NodeView& n) { return by_element(n, Rule::lion, {0, -1, -1}); };
  t["sgd"] = [](const NodeView& n) {
    return by_element(n, Rule::sgd, {-1, -1, n.real("momentum") == 0 ? -1 : 0});
  };
  t["rmsprop"] = rmsprop;
  t["adamw_8bit"] = [](const NodeView& n) { return in_8bit(n, Rule::adamw); };
  t["lion_8bit"] = [](const NodeView& n) { return in_8bit(n, Rule::lion); };
  t["sum_squares"] = sum_squares;
  t["clip_scale"] = clip_scale;
}

}  // namespace hone::cuda
