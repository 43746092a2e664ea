#include "engine/session/calibrate.h"

#include <algorithm>
#include <functional>

#include "base/core/clock.h"
#include "engine/ops/cost.h"
#include "engine/ops/ops.h"
#include "engine/session/session.h"

namespace hone {
namespace {

// A program whose last node is of the kind that is measured, or made of it and free ones.
struct Probe {
  std::string kind;
  bool product = false;  // its two probes differ in FLOP for a byte; else in bytes
  Cost cost = {};
  double best_s = 1e300;
};

constexpr int64_t kChannels = 1024, kNearRows = 256, kFarRows = 6144;
constexpr int64_t kHeads = 12, kHeadSize = 64, kTokens = 1024;

class Probes {
 public:
  // `make` adds the node to the program; the cost of the program is the sum of its nodes.
  void add(const std::string& kind, bool product, const std::function<void(Builder&)>& make) {
    Program p(op_table(), fmt::format("probe.{}", programs.size()));
    Builder b(p);
    make(b);
    const auto& results = p.nodes.back().out;
    for (size_t i = 0; i < results.size(); ++i)
      p.outputs.push_back({fmt::format("y{}", i), results[i]});
    Probe probe{kind, product};
    for (const Node& n : p.nodes) {
      const Cost c = cost_of({p, n});
      probe.cost.flops += c.flops;
      probe.cost.bytes += c.bytes;
    }
    list.push_back(probe);
    programs.push_back(std::move(p));
  }

  // A node over rows of channels, in the caches and out of them.
  void rows(const std::string& kind, const std::function<void(Builder&, int64_t rows)>& make) {
    for (const int64_t n : {kNearRows, kFarRows}) add(kind, false, [&](Builder& b) { make(b, n); });
  }

  std::vector<Probe> list;
  std::vector<Program> programs;
};

ValueId in(Builder& b, const std::string& name, Type type) {
  return b.program().add_input(name, std::move(type));
}
ValueId in(Builder& b, const std::string& name, Shape shape, DType type = DType::f32) {
  return in(b, name, Type{type, std::move(shape)});
}

void add_products(Probes& probes, bool bf16) {
  const std::string end = bf16 ? ".bf16" : "";
  struct Size {
    int64_t m, n, k;
  };
  // Many rows, and few: the weights then count by their bytes.
  for (const Size& s : {Size{512, 768, 768}, Size{32, 1024, 1024}})
    for (const auto& [tx, ty] : {std::pair{false, false}, {false, true}, {true, false}})
      probes.add(fmt::format("matmul.{}{}{}", tx ? 't' : 'n', ty ? 't' : 'n', end), true,
                 [&, tx = tx, ty = ty](Builder& b) {
                   // The gradient of a weight sums over the rows.
                   const auto [m, n, k] = tx ? Size{s.n, s.k, s.m} : s;
                   const ValueId x = in(b, "x", tx ? Shape{k, m} : Shape{m, k}),
                                 y = in(b, "y", ty ? Shape{n, k} : Shape{k, n});
                   ops::matmul(b, x, y, tx, ty, bf16 ? DType::bf16 : DType::f32);
                 });
  for (const Size& s : {Size{256, 2048, 768}, Size{32, 2048, 768}})
    probes.add("linear_cross_entropy" + end, true, [&](Builder& b) {
      const ValueId x = in(b, "x", {s.m, s.k}), w = in(b, "w", {s.n, s.k}),
                    labels = in(b, "ids", {s.m}, DType::i32), scale = in(b, "scale", Shape{});
      Attrs attrs{{"dw", true}, {"dx", true}};
      if (bf16) attrs.set("bf16", true);
      b.emit("linear_cross_entropy", {x, w, labels, scale}, attrs);
    });
}

struct Segments {
  ValueId cu, rng, sample_ids;
};
Segments segments(Builder& b, int64_t tokens) {
  return {in(b, "cu", {kTokens / tokens + 1}, DType::i32), in(b, "rng", {2}, DType::i64),
          in(b, "sample_ids", {kTokens}, DType::i64)};
}

void add_attention(Probes& probes) {
  const Shape wide{kTokens, kHeads * kHeadSize};
  for (const double dropout : {0.0, 0.1})
    for (const int64_t length : {512, 64}) {
      const std::string end = dropout > 0 ? ".dropout" : "";
      const ops::AttentionOptions o{
          .heads = kHeads, .kv_heads = kHeads, .scale = 0.125, .dropout = dropout, .key = "probe"};
      const auto operands = [&](Builder& b) {
        const Segments s = segments(b, length);
        ops::AttentionInputs a{.q = in(b, "q", wide),
                               .k = in(b, "k", wide),
                               .v = in(b, "v", wide),
                               .cu_q = s.cu,
                               .cu_k = s.cu};
        if (dropout > 0) a.rng = s.rng, a.sample_ids = s.sample_ids;
        return a;
      };
      probes.add("attention" + end, true, [&](Builder& b) { ops::attention(b, operands(b), o); });
      probes.add("attention_grad" + end, true, [&](Builder& b) {
        const ops::AttentionInputs a = operands(b);
        Attrs attrs{
            {"heads", o.heads}, {"kv_heads", o.kv_heads}, {"causal", true}, {"scale", o.scale}};
        if (dropout > 0) attrs.set("dropout", dropout), attrs.set("key", o.key);
        b.emit("attention_grad",
               {a.q, a.k, a.v, in(b, "out", wide), in(b, "lse", {kHeads, kTokens}),
                in(b, "dout", wide), a.cu_q, a.cu_k, kNoValue, a.rng, a.sample_ids, kNoValue},
               attrs);
      });
    }
}

void add_rows(Probes& probes) {
  const auto x = [](Builder& b, const char* name, int64_t rows) {
    return in(b, name, {rows, kChannels});
  };
  const auto one = [](Builder& b, const char* name) { return in(b, name, {kChannels}); };
  probes.rows("add", [&](Builder& b, int64_t r) { ops::add(b, x(b, "x", r), x(b, "y", r)); });
  probes.rows("mul", [&](Builder& b, int64_t r) { ops::mul(b, x(b, "x", r), x(b, "y", r)); });
  for (const char* act : {"gelu", "gelu_tanh", "silu", "relu"})
    probes.rows(act, [&](Builder& b, int64_t r) { ops::activation(b, x(b, "x", r), act); });
  probes.rows("activation_grad", [&](Builder& b, int64_t r) {
    ops::activation_grad(b, x(b, "x", r), x(b, "dy", r), "gelu");
  });
  probes.rows("gate",
              [&](Builder& b, int64_t r) { ops::gate(b, x(b, "a", r), x(b, "x", r), "silu"); });
  probes.rows("gate_grad", [&](Builder& b, int64_t r) {
    b.emit("gate_grad", {x(b, "a", r), x(b, "x", r), x(b, "dy", r)}, {{"kind", "silu"}});
  });
  probes.rows("layer_norm", [&](Builder& b, int64_t r) {
    ops::layer_norm(b, x(b, "x", r), one(b, "g"), one(b, "b"), 1e-5);
  });
  probes.rows("layer_norm_grad", [&](Builder& b, int64_t r) {
    b.emit("layer_norm_grad", {x(b, "x", r), one(b, "g"), in(b, "mean", {r}), in(b, "rstd", {r}),
                               x(b, "dy", r), x(b, "dsum", r)});
  });
  probes.rows("rms_norm",
              [&](Builder& b, int64_t r) { ops::rms_norm(b, x(b, "x", r), one(b, "g"), 1e-5); });
  probes.rows("rms_norm_grad", [&](Builder& b, int64_t r) {
    b.emit("rms_norm_grad",
           {x(b, "x", r), one(b, "g"), in(b, "rstd", {r}), x(b, "dy", r), x(b, "dsum", r)});
  });
  probes.rows("rope", [&](Builder& b, int64_t r) {
    ops::rope(b, x(b, "x", r), in(b, "positions", {r}, DType::i32), in(b, "freq", {32}),
              kChannels / 64);
  });
  probes.rows("dropout", [&](Builder& b, int64_t r) {
    ops::dropout(b, x(b, "x", r), in(b, "rng", {2}, DType::i64),
                 in(b, "sample_ids", {r}, DType::i64), in(b, "positions", {r}, DType::i32), 0.1,
                 "probe", x(b, "residual", r));
  });
  probes.rows("sum_rows", [&](Builder& b, int64_t r) { ops::sum_rows(b, x(b, "x", r)); });
  probes.rows("sum_squares", [&](Builder& b, int64_t r) { ops::sum_squares(b, x(b, "x", r)); });
  probes.rows("cast", [&](Builder& b, int64_t r) { ops::cast(b, x(b, "x", r), DType::bf16); });
  probes.rows("embedding", [&](Builder& b, int64_t r) {
    ops::embedding(b, x(b, "table", kFarRows), in(b, "ids", {r}, DType::i32));
  });
  probes.rows("scatter_add_rows", [&](Builder& b, int64_t r) {
    ops::scatter_add_rows(b, in(b, "ids", {r}, DType::i32), x(b, "dy", r), kNearRows);
  });
  probes.rows("adamw", [&](Builder& b, int64_t r) {
    const int64_t rows = r / 2;
    ops::UpdateLists lists{.p = {x(b, "p", rows)},
                           .g = {x(b, "g", rows)},
                           .states = {x(b, "m", rows), x(b, "v", rows)},
                           .decay = {1}};
    lists.lr = in(b, "lr", Type{DType::f64, {}});
    lists.step = in(b, "step", Type{DType::i64, {}});
    lists.g_scale = in(b, "g_scale", Type{DType::f64, {}});
    ops::update(b, "adamw", lists,
                {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.01}});
  });
}

// Fills values like those of a run: of no special size, ids of existing rows, segments of equal
// length.
void fill(Session& session, size_t program, bool floats) {
  const Program& p = session.programs()[program];
  for (const Named& n : p.inputs) {
    const Type& type = p.type(n.value);
    const auto count = static_cast<size_t>(type.count());
    if (type.dtype == DType::f32 && floats) {
      const auto values = session.input<float>(program, n.name);
      for (size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(i * 7919 % 2003) * 1e-3f + 1e-3f;
    } else if (type.dtype == DType::f64) {
      std::ranges::fill(session.input<double>(program, n.name), 1e-3);
    } else if (type.dtype == DType::i64) {
      std::ranges::fill(session.input<int64_t>(program, n.name), 1);
    } else if (type.dtype == DType::i32) {
      const auto values = session.input<int32_t>(program, n.name);
      for (size_t i = 0; i < count; ++i)
        values[i] = n.name == "cu"
                        ? static_cast<int32_t>(static_cast<size_t>(kTokens) / (count - 1) * i)
                        : static_cast<int32_t>(i % kNearRows);
    }
  }
}

// Seconds of a FLOP and of a byte by two programs of different shares of both.
KindSpeed solved(const Probe& a, const Probe& b) {
  const double det = a.cost.flops * b.cost.bytes - b.cost.flops * a.cost.bytes;
  double flop_s = (a.best_s * b.cost.bytes - b.best_s * a.cost.bytes) / det;
  double byte_s = (a.cost.flops * b.best_s - b.cost.flops * a.best_s) / det;
  if (byte_s < 0) byte_s = 0, flop_s = a.best_s / a.cost.flops;
  if (flop_s < 0) flop_s = 0, byte_s = b.best_s / b.cost.bytes;
  return {flop_s, byte_s, byte_s};
}

}  // namespace

Result<Calibration> calibrate(const Backend& backend, bool bf16, double seconds) {
  Probes probes;
  add_products(probes, false);
  if (bf16) add_products(probes, true);
  add_attention(probes);
  add_rows(probes);
  probes.add("node", false, [](Builder& b) {
    const ValueId x = in(b, "x", {64});
    ValueId y = ops::exp(b, x);
    for (int i = 1; i < 16; ++i) y = ops::exp(b, y);
  });
  Session session = HONE_TRY(Session::compile(std::move(probes.programs), backend));
  HONE_TRY(session.allocate());
  for (size_t i = 0; i < probes.list.size(); ++i) {  // values of one are in the memory of others
    fill(session, i, true);
    session.run(i);
  }
  const double end = system_clock().seconds() + seconds;
  for (int round = 0; round < 3 || system_clock().seconds() < end; ++round)
    for (size_t i = 0; i < probes.list.size(); ++i) {
      fill(session, i, false);
      const double start = system_clock().seconds();
      session.run(i);
      probes.list[i].best_s = std::min(probes.list[i].best_s, system_clock().seconds() - start);
    }

  Calibration c;
  c.node_seconds = probes.list.back().best_s / 16;
  std::map<std::string, const Probe*> first;
  for (Probe& probe : probes.list) {
    probe.best_s = std::max(probe.best_s - c.node_seconds, 1e-9);
    const auto [it, is_new] = first.emplace(probe.kind, &probe);
    if (is_new) continue;
    const Probe& other = *it->second;
    c.ops.set(probe.kind, probe.product ? solved(other, probe)
                                        : KindSpeed{0, other.best_s / other.cost.bytes,
                                                    probe.best_s / probe.cost.bytes});
  }
  const auto product_flops = [&](const char* kind) {
    const Probe& probe = *first.at(kind);
    return probe.cost.flops / probe.best_s;
  };
  c.f32_flops = product_flops("matmul.nn");
  c.bf16_flops = bf16 ? product_flops("matmul.nn.bf16") : c.f32_flops;
  c.bytes_per_second = 1 / c.ops.find("add")->far_byte_s;

  constexpr int64_t kCopied = 24 << 20;
  Device& device = backend.device();
  const auto from = HONE_TRY(device.allocate(Space::host, kCopied)),
             to = HONE_TRY(device.allocate(Space::device, kCopied));
  Queue& lane = device.queue(Lane::load);
  for (int i = 0; i < 4; ++i) {
    const double start = system_clock().seconds();
    lane.copy(to->data(), from->data(), kCopied);
    lane.finish();
    c.host_bytes_per_second =
        std::max(c.host_bytes_per_second, kCopied / (system_clock().seconds() - start));
  }
  return c;
}

Result<DiskSpeeds> calibrate_disk(const Backend& backend, const std::string& folder) {
  constexpr int64_t kBytes = 64 << 20;
  Device& device = backend.device();
  const auto disk = HONE_TRY(device.allocate(Space::disk, kBytes, folder)),
             memory = HONE_TRY(device.allocate(Space::host, kBytes));
  DiskSpeeds speeds;
  const auto measure = [&](Lane lane, void* to, const void* from, double& best) {
    Queue& queue = device.queue(lane);
    const double start = system_clock().seconds();
    queue.copy(to, from, kBytes);
    queue.finish();
    best = std::max(best, kBytes / (system_clock().seconds() - start));
  };
  for (int i = 0; i < 2; ++i) {
    measure(Lane::disk_write, disk->data(), memory->data(), speeds.write_bytes_per_second);
    measure(Lane::disk_read, memory->data(), disk->data(), speeds.read_bytes_per_second);
  }
  HONE_TRY(device.check());
  return speeds;
}

}  // namespace hone
