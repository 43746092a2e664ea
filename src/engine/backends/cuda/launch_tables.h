// Tables of launches by op; the files of this room fill them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "engine/backends/cuda/launch.h"

namespace hone::cuda {

// Kernels in the order of their run; none if there is nothing to do.
struct Launches {
  std::vector<Launch> launches;
  int64_t workspace_bytes = 0;
  int64_t product_bytes = 0;  // of products, after it
  std::string note = {};      // Choice::note
};
struct LaunchOptions {
  bool library = false;       // products by cuBLASLt if it has them
  int64_t library_bytes = 0;  // of its workspace
  bool tensor_cores = false;  // those of sm_80 and later
  bool warp_groups = false;   // products of four warps (sm_90a)
  // Epilogues of the library multiply by slopes of activations. Before Hopper its products with them are slower than
  // a kernel after them (llm.c, which fuses them on Hopper alone).
  bool slopes = false;
};

// Those of a GPU with cuBLASLt.
LaunchOptions launch_options(const DeviceSpec& spec);

using LaunchTable =
    std::map<std::string, std::function<Result<Launches>(const NodeView&)>, std::less<>>;

LaunchTable launch_table(const LaunchOptions& options);
// An Error kDeclined if there is no kernel.
Result<Launches> launches_of(const LaunchTable& table, const NodeView& n);

void add_elementwise(LaunchTable& t);
void add_moves(LaunchTable& t);
void add_sums(LaunchTable& t);
void add_groups(LaunchTable& t);
void add_random(LaunchTable& t);
void add_blocks(LaunchTable& t);
void add_activations(LaunchTable& t);
void add_norms(LaunchTable& t);
void add_rows(LaunchTable& t);
void add_recurrent(LaunchTable& t);
void add_columns(LaunchTable& t);
void add_pools(LaunchTable& t);
void add_updates(LaunchTable& t);
void add_adafactor(LaunchTable& t);
void add_lamb(LaunchTable& t);
void add_apollo(LaunchTable& t, const LaunchOptions& options);
void add_attention(LaunchTable& t, const LaunchOptions& options);
void add_products(LaunchTable& t, const LaunchOptions& options);
void add_cross_entropy(LaunchTable& t, const LaunchOptions& options);
void add_convs(LaunchTable& t, const LaunchOptions& options);

Error no_kernel(const NodeView& n, std::string_view why);
// Row-major strides, in elements.
std::vector<int64_t> strides_of(const Shape& shape);

// The kind of kernels/activations.cuh; kNoActivation: there is no such kind.
int activation_index(std::string_view kind);

// z = act(x y + bias) + onto: x [m,k] (trans_x: [k,m]), y [k,n] (trans_y: [n,k]), rounded first.
struct ProductForm {
  DType x = DType::f32, y = DType::f32, z = DType::f32;
  int64_t m = 0, n = 0, k = 0, batches = 1;
  bool trans_x = false, trans_y = false;
  DType rounded = DType::f32;
  int act = kNoActivation;  // of kernels/activations.cuh
  bool slope = false;       // z = x y f'(pre) of gelu_tanh; by the library alone
  // From a row of x, y and z as they are stored to the next, in elements; 0: one after the other.
  int64_t step_x = 0, step_y = 0, step_z = 0;
};
// pre: x y + bias, saved; with a slope an operand. sums: with a slope, of the rows of z, in its type. Absent ones are
// null.
struct ProductArguments {
  LaunchArgument x, y, bias = LaunchArgument::null(), onto = LaunchArgument::null(),
                       pre = LaunchArgument::null(), z, sums = LaunchArgument::null();
};
// The gradient of an activation of the node's attribute `kind`, result 0 of the node, with its attributes `remade` and `sums`:
// of x with the gradient dy of the same type, over which it may be written. Parts of sums are at the beginning of the
// workspace. False: there is no kernel.
bool add_activation_grad(Launches& all, const NodeView& n, const LaunchArgument& x,
                         const LaunchArgument& dy);
// A product and a separate gelu, if the library cannot fuse them.
std::vector<Launch> without_gelu(const Launch& l);
// Adds the launches of a product; `all` has its own workspace already.
void add_product(Launches& all, const ProductForm& form, const ProductArguments& arguments,
                 const LaunchOptions& options);

// Elements from a row of a matrix in 16 bits to the next, so that each begins at an address that
// tensor cores read at full speed: `columns` of them, or the next multiple of 64.
inline int64_t padded_row(int64_t columns) {
  return columns % 8 == 0 ? columns : (columns + 63) / 64 * 64;
}
// Changes the type of `count` elements; with `most` above 0, larger values become that one.
Launch cast_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                   int64_t count, double most = 0);
// Copies a matrix [rows,columns] to one of out_rows rows that begin `step` elements apart.
Launch pad_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                  int64_t rows, int64_t columns, int64_t out_rows, int64_t step);

// The product of a linear of few rows, which reads the weight as it is stored. An Error kDeclined if there is no such
// kernel.
Result<Launches> few_rows(const NodeView& n);
// Widens the weight of a node with attribute scheme, which is in blocks, to a matrix of that type.
Result<Launch> widen_launch(const NodeView& n, const Type& type, const LaunchArgument& to);
// Adds widen_launch() as the first of `all`, before a product; the matrix is at the beginning of
// the workspace. Returns the type of the matrix, which is the product's operand type.
Result<DType> add_widened(Launches& all, const NodeView& n, DType x, DType rounded);

// bitsandbytes' numbers of 8 bits.
Map map_of(bool is_signed);

// Sums over the rows of a matrix have parts. Their number depends only on the rows, and so do the
// bits.
int64_t row_parts_of(int64_t rows);
int64_t row_part_bytes(int64_t rows, int64_t columns);
Launch row_part_launch(const std::string& kernel, int64_t rows, int64_t columns);
// Adds these parts, from the beginning of the workspace, and `onto`.
Launch add_parts_launch(DType to, const LaunchArgument& onto, const LaunchArgument& out,
                        int64_t rows, int64_t columns);
// The sums of the rows of x, of such a type, as two launches. They share the workspace with those before.
void append_row_sums(Launches& all, const Type& type, const LaunchArgument& x,
                     const LaunchArgument& onto, DType to, const LaunchArgument& out);
// Whether a launch has parts for this many columns.
bool has_row_parts(int64_t columns);

// Copies operand i to result k unless they share storage.
Launch copy_if_apart(const NodeView& n, size_t i, size_t k);
// Rows of the table that is operand 0, by the ids in operand 1.
Result<Launches> gather_rows(const NodeView& n);
// Rounds the bytes of a part of a workspace up, so that the next one is aligned.
inline int64_t whole_part(int64_t bytes) { return (bytes + 255) / 256 * 256; }

inline Launches one(Launch launch) { return {{std::move(launch)}}; }
// "exp_f32": a kernel of an element type.
inline std::string kernel_of(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, name_of(t));
}
inline std::string kernel_of_size(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, size_of(t));
}
// A float type as an argument.
inline Element element_of(DType t) {
  return t == DType::f64    ? Element::f64
         : t == DType::bf16 ? Element::bf16
         : t == DType::f16  ? Element::f16
                            : Element::f32;
}
// The float types of fused kernels; f64 is decomposed.
inline bool is_fused(DType t) { return is_float(t) && t != DType::f64; }
// Whether `t` is one of `types`.
inline bool is_one_of(DType t, std::initializer_list<DType> types) {
  return std::find(types.begin(), types.end(), t) != types.end();
}

}  // namespace hone::cuda
