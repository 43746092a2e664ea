/* libhone: a C interface to hone for programs in any language. It opens a model that hone or
 * Transformers saved, tokenises texts, and generates texts.
 *
 *   hone_model *m = hone_open("finetuned", NULL);
 *   const char *prompts[] = {"Once upon a time", "The"};
 *   hone_batch *b = hone_generate_text(m, prompts, 2, "{\"max_new_tokens\": 20}");
 *   puts(hone_batch_text(b, 0));
 *   hone_batch_free(b);
 *   hone_close(m);
 *
 * Errors: a function that fails returns NULL or -1. Then hone_error(), called on the same thread,
 * returns the text of the error: its code, the message, the places and what to do. No function
 * prints, throws or ends the process.
 * Threads: different models may be used at the same time. Calls of hone_generate and
 * hone_generate_text on the same model run one after another.
 * Text is UTF-8. hone_open allocates all memory of a model, including its KV cache.
 */
#ifndef HONE_H
#define HONE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_API __attribute__((visibility("default")))

typedef struct hone_model hone_model; /* an open model */
typedef struct hone_batch hone_batch; /* the results of hone_generate or hone_generate_text */

/* A list of token ids. The ids that hone_batch_tokens returns belong to the batch. */
typedef struct hone_tokens {
  const int32_t* ids;
  int64_t count;
} hone_tokens;

/* "0.1.0" */
HONE_API const char* hone_version(void);

/* The error of this thread's last failed call; "" before the first. Valid until the next failed
 * call. */
HONE_API const char* hone_error(void);

/* Opens a model: a folder, a .safetensors or .gguf file, or a name on the Hugging Face hub. Returns
 * NULL on failure. Close the model with hone_close. `options` is NULL or a JSON object with members:
 *   threads         threads of the CPU (default 0: OMP_NUM_THREADS, else one per core)
 *   batch_size      limit for sequences that are generated at once, beams included (default 8)
 *   max_length      largest number of tokens of a sequence, prompt included (default 0: the largest
 *                   that the model supports, at most 2048)
 *   tokenizer_name  folder or hub name of the tokenizer (default: the model's own tokenizer)
 *   model_revision, cache_dir, token   for models of the hub */
HONE_API hone_model* hone_open(const char* name, const char* options);
/* Frees a model. NULL is allowed. */
HONE_API void hone_close(hone_model* model);

/* Tokenises a text with the model's special tokens, like Transformers' tokenizer(text). Writes at
 * most the first `capacity` ids. Returns the number of ids of the whole text, which may be larger
 * than `capacity`; -1 on failure. */
HONE_API int64_t hone_tokenize(hone_model* model, const char* text, int32_t* ids, int64_t capacity);
/* Converts ids to text. Writes at most `capacity` bytes, including the terminating 0. Returns the
 * length in bytes of the whole text without the terminating 0; it may be larger than `capacity`. -1
 * on failure. */
HONE_API int64_t hone_detokenize(hone_model* model, hone_tokens tokens, char* text,
                                 int64_t capacity);

/* Continues `count` prompts, which may differ in length, as one batch. `settings` is NULL or a JSON
 * object whose keys are those of generation_config.json and "seed"; they override the model's own
 * settings. Returns NULL on failure. Free the batch with hone_batch_free. */
HONE_API hone_batch* hone_generate(hone_model* model, const hone_tokens* prompts, int64_t count,
                                   const char* settings);
HONE_API hone_batch* hone_generate_text(hone_model* model, const char* const* prompts,
                                        int64_t count, const char* settings);
/* The number of continuations: num_return_sequences for each prompt, in the order of the prompts. */
HONE_API int64_t hone_batch_size(const hone_batch* batch);
/* The new tokens, without the prompt, and the new text of continuation `index`. If `index` is not in
 * 0 to hone_batch_size - 1, there are no tokens, and the text is NULL. If the model has no tokenizer,
 * the text is "". The results are valid until hone_batch_free. */
HONE_API hone_tokens hone_batch_tokens(const hone_batch* batch, int64_t index);
HONE_API const char* hone_batch_text(const hone_batch* batch, int64_t index);
/* Frees a batch. NULL is allowed. */
HONE_API void hone_batch_free(hone_batch* batch);

#ifdef __cplusplus
}
#endif

#endif
