// The table from an op to the function that makes its launches, and helpers of the files launch_*.cc that fill it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "engine/backends/cuda/launch.h"

namespace hone::cuda {

// The kernels of a node, in the order in which they run; empty if there is nothing to compute.
struct Launches {
  std::vector<Launch> launches;
  int64_t workspace_bytes = 0;
  int64_t product_bytes = 0;  // further bytes for matrix products, after the workspace_bytes
  std::string note = {};      // Choice::note
};
struct LaunchOptions {
  bool library = false;       // use cuBLASLt for the products that it supports
  int64_t library_bytes = 0;  // workspace that cuBLASLt may use
  bool tensor_cores = false;  // use tensor cores (sm_80 and later)
  bool warp_groups = false;   // four warps multiply together (wgmma of sm_90a)
  // Multiply by the derivative of gelu in a cuBLASLt epilogue. Before Hopper the epilogue is slower than a separate
  // kernel after the product (llm.c also fuses the two on Hopper only).
  bool slopes = false;
};

// The options for a GPU of this spec, with cuBLASLt.
LaunchOptions launch_options(const DeviceSpec& spec);

// The functions that make a node's launches, by op.
using LaunchTable =
    std::map<std::string, std::function<Result<Launches>(const NodeView&)>, std::less<>>;

// The table of all ops that have kernels.
LaunchTable launch_table(const LaunchOptions& options);
// The launches of a node; workspace_bytes then includes product_bytes. kDeclined (H1401): there is no kernel.
Result<Launches> launches_of(const LaunchTable& table, const NodeView& n);

// Each adds the ops of one kind to the table.
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

// An Error kDeclined (H1401) with the op's name and the reason.
Error no_kernel(const NodeView& n, std::string_view why);
// Row-major strides, in elements.
std::vector<int64_t> strides_of(const Shape& shape);

// The number of an activation such as "relu" in kernels/activations.cuh; kNoActivation: no activation has this name.
int activation_index(std::string_view kind);

// A matrix product z = act(x y + bias) + onto, with x [m,k] (trans_x: [k,m]), y [k,n] (trans_y: [n,k]) and z [m,n].
struct ProductForm {
  DType x = DType::f32, y = DType::f32, z = DType::f32;  // types in memory
  int64_t m = 0, n = 0, k = 0, batches = 1;
  bool trans_x = false, trans_y = false;
  DType rounded = DType::f32;  // x and y are rounded to this type first; f32: they are not rounded
  int act = kNoActivation;     // activation_index()
  // true: computes z = (x y) * gelu_tanh'(pre) instead, where gelu_tanh' is the derivative of gelu_tanh. cuBLASLt must
  // support the product.
  bool slope = false;
  // Elements from a row of x, y and z to the next, as the matrix is stored; 0: rows without gaps.
  int64_t step_x = 0, step_y = 0, step_z = 0;
};
// The addresses of a product; null for those that it does not have. pre: if ProductForm::slope is set, an operand, else
// a result that receives x y + bias. sums: only with `slope`, a result that receives the sums [n] over the rows of z,
// in the type of z.
struct ProductArguments {
  LaunchArgument x, y, bias = LaunchArgument::null(), onto = LaunchArgument::null(),
                       pre = LaunchArgument::null(), z, sums = LaunchArgument::null();
};
// Adds the launches of an activation's gradient. The activation is the attribute `kind` of the node. x: its input. dy:
// the gradient of its result. Result 0 of the node is the gradient of x. x, dy and result 0 have the same type; result
// 0 may be written over dy. With the attributes `sums` and `remade` the launches also make the node's further results.
// Partial sums are at the beginning of the workspace. Returns false if there is no kernel; nothing is added then.
bool add_activation_grad(Launches& all, const NodeView& n, const LaunchArgument& x,
                         const LaunchArgument& dy);
// Splits a cuBLASLt product with gelu into a product and a kernel that computes the gelu.
std::vector<Launch> without_gelu(const Launch& l);
// Adds the launches of a product: by cuBLASLt if it is enabled and supports the product, else by hone's own kernel.
// Its workspace follows the all.workspace_bytes that are already in use.
void add_product(Launches& all, const ProductForm& form, const ProductArguments& arguments,
                 const LaunchOptions& options);

// Elements from a row of a matrix in 16 bits to the next, so that each row begins at an address that
// tensor cores read at full speed: `columns` if that is a multiple of 8, else the next multiple of 64.
inline int64_t padded_row(int64_t columns) {
  return columns % 8 == 0 ? columns : (columns + 63) / 64 * 64;
}
// Converts `count` elements. most > 0: finite values are clamped to [-most, most].
Launch cast_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                   int64_t count, double most = 0);
// Converts a matrix [rows,columns] into one of `out_rows` rows that begin `step` elements apart. Added elements are 0.
Launch pad_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                  int64_t rows, int64_t columns, int64_t out_rows, int64_t step);

// The launches of a product with at most kMostFewRows rows; they read the weight as it is stored. kDeclined (H1401):
// there is no such kernel.
Result<Launches> few_rows(const NodeView& n);
// Dequantizes the weight of a node with attribute `scheme` into a matrix of `type` (f32 or bf16) at `to`. kDeclined:
// there is no kernel for the scheme or the type.
Result<Launch> widen_launch(const NodeView& n, const Type& type, const LaunchArgument& to);
// Adds widen_launch() as the first of `all`, before a product; the matrix is at the beginning of the workspace. x: the
// type of the other operand. rounded: as in ProductForm. Returns the type of the matrix. kDeclined: as widen_launch().
Result<DType> add_widened(Launches& all, const NodeView& n, DType x, DType rounded);

// The 256 values of bitsandbytes' 8-bit codes (base/core/dynamic_map.h).
Map map_of(bool is_signed);

// Sums over the rows of a matrix are computed in parts: partial sums f32[row_parts_of(rows), columns] at the beginning
// of the workspace. The number of parts depends on `rows` alone, so the bits of the sums do too.
int64_t row_parts_of(int64_t rows);
int64_t row_part_bytes(int64_t rows, int64_t columns);
// A launch of a kernel that makes the parts; the caller adds the arguments.
Launch row_part_launch(const std::string& kernel, int64_t rows, int64_t columns);
// A launch that adds the parts and writes `out` [columns] of type `to`. onto: a vector [columns] that is added too;
// null: none.
Launch add_parts_launch(DType to, const LaunchArgument& onto, const LaunchArgument& out,
                        int64_t rows, int64_t columns);
// Appends two launches that sum the rows of x, a matrix of `type`, into out [columns]. They use the beginning of the
// workspace, which launches before them may use too.
void append_row_sums(Launches& all, const Type& type, const LaunchArgument& x,
                     const LaunchArgument& onto, DType to, const LaunchArgument& out);
// Whether row_part_launch() supports this number of columns.
bool has_row_parts(int64_t columns);

// Copies operand i to result k unless they share storage.
Launch copy_if_apart(const NodeView& n, size_t i, size_t k);
// Gathers the rows of operand 0, a table, whose ids are in operand 1.
Result<Launches> gather_rows(const NodeView& n);
// Rounds the bytes of a part of a workspace up to a multiple of 256, so that the next part is aligned.
inline int64_t whole_part(int64_t bytes) { return (bytes + 255) / 256 * 256; }

inline Launches one(Launch launch) { return {{std::move(launch)}}; }
// The name of a kernel with its element type ("exp_f32"), or with its element size in bytes ("fill_4").
inline std::string kernel_of(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, name_of(t));
}
inline std::string kernel_of_size(std::string_view name, DType t) {
  return fmt::format("{}_{}", name, size_of(t));
}
// A float type as an argument of a kernel.
inline Element element_of(DType t) {
  return t == DType::f64    ? Element::f64
         : t == DType::bf16 ? Element::bf16
         : t == DType::f16  ? Element::f16
                            : Element::f32;
}
// Whether fused kernels support the type: f32, bf16 and f16. Ops in f64 are decomposed.
inline bool is_fused(DType t) { return is_float(t) && t != DType::f64; }
// Whether `t` is one of `types`.
inline bool is_one_of(DType t, std::initializer_list<DType> types) {
  return std::find(types.begin(), types.end(), t) != types.end();
}

}  // namespace hone::cuda
