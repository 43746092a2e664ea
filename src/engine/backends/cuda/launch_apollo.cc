// Launches of APOLLO, matrix by matrix: random numbers, their product with the gradient, the update.
#include <cmath>

#include "engine/backends/cuda/update_tensors.h"
#include "engine/ops/update_parts.h"

namespace hone::cuda {
namespace {

constexpr int64_t kMostApolloParts = 1024;

// Places in the workspace, which all matrices use after each other.
struct ApolloPlaces {
  int64_t rate, parts, scales, random, low, wide, end;
};
ApolloPlaces places_of(const Apollo& a, int64_t random, bool widens) {
  ApolloPlaces at{};
  at.rate = whole_part(kPowerBytes);  // after the powers
  at.parts = at.rate + whole_part(4);
  at.scales = at.parts + whole_part(kMostApolloParts * 8);
  at.random = at.scales + whole_part(4 * std::max(a.rows, a.columns));
  at.low = at.random + whole_part(4 * random);
  at.wide = at.low + whole_part(4 * a.low_rows * a.low_columns);
  at.end = at.wide + (widens ? whole_part(4 * a.rows * a.columns) : 0);
  return at;
}

Apollo matrix_of(const NodeView& n, size_t i) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const Shape &p = n.in(i).shape, &low = n.in(2 * count + i).shape;
  Apollo a{};
  a.rows = p[0];
  a.columns = p[1];
  a.low_rows = low[0];
  a.low_columns = low[1];
  a.by = n.text("scale_type") == "tensor" ? Apollo::By::all
         : p[0] >= p[1]                   ? Apollo::By::rows
                                          : Apollo::By::columns;
  a.beta1 = n.real("beta1");
  a.beta2 = n.real("beta2");
  a.eps = n.real("eps");
  a.scale = std::sqrt(n.real("scale"));
  a.decay = weight_decay_of(n, i);
  a.parts = std::clamp<int64_t>(p[0] * p[1] / (16 * kBlock), 1, kMostApolloParts);
  return a;
}

// Whether the projection is to the right, of [rank,C]: low keeps the rows of p.
bool keeps_rows(const NodeView& n, size_t i) {
  const std::string& how = n.text("proj_type");
  if (how == "right" || how == "left") return how == "right";
  return (n.in(i).shape[0] >= n.in(i).shape[1]) == (how == "std");
}

// low = gradient random^T, or random^T gradient, in f32.
void add_projection(Launches& all, const NodeView& n, size_t i, const Apollo& a,
                    const ApolloPlaces& at, const LaunchOptions& options) {
  const size_t gradient = static_cast<size_t>(n.integer("count")) + i;
  const DType of_g = n.in(gradient).dtype;
  const int64_t rank = n.integer("rank"), size = a.rows * a.columns;
  const bool right = keeps_rows(n, i);
  const int64_t numbers = rank * (right ? a.columns : a.rows);
  Launch random("random_normal_f32");
  random.in(n.slot("step")).work(at.random).value(numbers);
  random.value(static_cast<uint64_t>(n.integers("keys")[i])).value(n.integer("update_proj_gap"));
  random.value(1 / std::sqrt(static_cast<double>(rank))).over(numbers);
  all.launches.push_back(std::move(random));
  LaunchArgument g = LaunchArgument::input(gradient);
  if (of_g != DType::f32) {
    g = LaunchArgument::work(at.wide);
    all.launches.push_back(cast_launch(of_g, DType::f32, LaunchArgument::input(gradient), g, size));
  }
  const LaunchArgument drawn = LaunchArgument::work(at.random);
  ProductForm f{.x = DType::f32, .y = DType::f32, .z = DType::f32};
  f.m = a.low_rows;
  f.n = a.low_columns;
  f.k = right ? a.columns : a.rows;
  f.trans_x = !right;
  f.trans_y = right;
  add_product(all, f,
              {.x = right ? g : drawn, .y = right ? drawn : g, .z = LaunchArgument::work(at.low)},
              options);
}

void add_matrix(Launches& all, const NodeView& n, size_t i, const Apollo& a,
                const ApolloPlaces& at) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const size_t lr = n.slot("lr"), g_scale = n.slot("g_scale"), gradient = count + i;
  const DType of_g = n.in(gradient).dtype;
  Launch moments("apollo_moments");
  moments.work(at.low).in(g_scale).in(2 * count + i).in(3 * count + i);
  moments.out(count + i).out(2 * count + i).value(a).over(a.low_rows * a.low_columns);
  Launch scales("apollo_scales");
  scales.work(at.low).out(count + i).out(2 * count + i).work(at.scales).value(a);
  if (a.by == Apollo::By::rows) scales.over(a.low_rows * kWarp);
  if (a.by == Apollo::By::columns) scales.over(a.low_columns);
  Launch squares(kernel_of("apollo_squares", of_g));
  squares.in(gradient).in(g_scale).work(at.scales).work(at.parts).value(a).blocks(a.parts);
  Launch rate("apollo_rate");
  rate.work(at.parts).in(lr).in(g_scale).work().in(4 * count + i).out(3 * count + i);
  rate.work(at.rate).value(a);
  Launch weights(kernel_of("apollo_weights", of_g));
  weights.in(i).in(gradient).in(lr).in(g_scale).work(at.scales).work(at.rate).out(i).value(a);
  weights.over(a.rows * a.columns);
  for (Launch* l : {&moments, &scales, &squares, &rate, &weights})
    all.launches.push_back(std::move(*l));
}

Result<Launches> apollo_adamw(const NodeView& n, const LaunchOptions& options) {
  constexpr int64_t kMostOfOneBlock = 1 << 20;
  const auto count = static_cast<size_t>(n.integer("count"));
  std::vector<ApolloPlaces> places;
  Launches all;
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i), &low = n.in(2 * count + i);
    if (p.dtype != DType::f32 || !is_fused(g.dtype) || low.dtype != DType::f32)
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    if (p.count() == 0 || (n.text("scale_type") == "tensor" && low.count() > kMostOfOneBlock))
      return no_kernel(n, "a projection of that size");
    const int64_t numbers = n.integer("rank") * p.shape[keeps_rows(n, i) ? 1 : 0];
    places.push_back(places_of(matrix_of(n, i), numbers, g.dtype != DType::f32));
    all.workspace_bytes = std::max(all.workspace_bytes, places.back().end);
  }
  all.launches.push_back(powers_launch(n));
  for (size_t i = 0; i < count; ++i) {
    const Apollo a = matrix_of(n, i);
    add_projection(all, n, i, a, places[i], options);
    add_matrix(all, n, i, a, places[i]);
  }
  return all;
}

}  // namespace

void add_apollo(LaunchTable& t, const LaunchOptions& options) {
  t["apollo_adamw"] = [options](const NodeView& n) { return apollo_adamw(n, options); };
}

}  // namespace hone::cuda
