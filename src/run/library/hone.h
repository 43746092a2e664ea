/* libhone: opens a model of hone or Transformers, tokenises, generates. A C interface for any
 * language.
 *
 *   hone_model *m = hone_open("finetuned", NULL);
 *   const char *prompts[] = {"Once upon a time", "The"};
 *   hone_batch *b = hone_generate_text(m, prompts, 2, "{\"max_new_tokens\": 20}");
 *   puts(hone_batch_text(b, 0));
 *   hone_batch_free(b);
 *   hone_close(m);
 *
 * Errors: a function that fails returns NULL or -1, and hone_error() of the same thread has code,
 * what, where and what to do. No function prints, throws or ends the process.
 * Threads: different models may be used at the same time; calls on one model wait for each other.
 * Text is UTF-8. hone_open allocates all memory of a model: later calls need no more.
 */
#ifndef HONE_H
#define HONE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_API __attribute__((visibility("default")))

typedef struct hone_model hone_model;
typedef struct hone_batch hone_batch;

typedef struct hone_tokens {
  const int32_t* ids;
  int64_t count;
} hone_tokens;

/* "0.1.0" */
HONE_API const char* hone_version(void);

/* The error of this thread's last failed call; "" before the first. Valid until the next failed
 * call. */
HONE_API const char* hone_error(void);

/* Opens a model folder, a .safetensors or .gguf file, or a hub name. `options` is a JSON object, or
 * NULL:
 *   threads (0: OMP_NUM_THREADS, else one per core),
 *   batch_size (8: sequences held at once, beams included),
 *   max_length (0: the model's positions, at most 2048: tokens of a sequence, prompt included),
 *   tokenizer_name, model_revision, cache_dir, token. */
HONE_API hone_model* hone_open(const char* name, const char* options);
/* NULL is allowed. */
HONE_API void hone_close(hone_model* model);

/* The ids of a text with the model's own special tokens, as Transformers' tokenizer(text). Writes
 * at most `capacity` ids and returns their whole number; -1: failed. */
HONE_API int64_t hone_tokenize(hone_model* model, const char* text, int32_t* ids, int64_t capacity);
/* The text of ids. Writes at most `capacity` bytes, including the closing 0, and returns the length
 * of the whole text without it; -1: failed. */
HONE_API int64_t hone_detokenize(hone_model* model, hone_tokens tokens, char* text,
                                 int64_t capacity);

/* Continues prompts of different lengths together. `settings` is a JSON object with keys of
 * generation_config.json and `seed`, which override the model's own, or NULL. NULL: failed. */
HONE_API hone_batch* hone_generate(hone_model* model, const hone_tokens* prompts, int64_t count,
                                   const char* settings);
HONE_API hone_batch* hone_generate_text(hone_model* model, const char* const* prompts,
                                        int64_t count, const char* settings);
/* Continuations: num_return_sequences of each prompt, in the order of the prompts. For an index
 * outside of 0 to size - 1 the tokens are empty and the text is NULL. The results live as long as
 * the batch. */
HONE_API int64_t hone_batch_size(const hone_batch* batch);
HONE_API hone_tokens hone_batch_tokens(const hone_batch* batch, int64_t index);
HONE_API const char* hone_batch_text(const hone_batch* batch, int64_t index);
HONE_API void hone_batch_free(hone_batch* batch);

#ifdef __cplusplus
}
#endif

#endif
