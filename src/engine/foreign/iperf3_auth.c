/* Who we are, for an iperf3 server that asks: iperf3_auth.h. */
#include "iperf3_auth.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>

#define TEXT_SIZE   512
#define CIPHER_SIZE 1024 /* 8192 bits */

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_get_size(key) <= CIPHER_SIZE)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

static bool encrypt(EVP_PKEY *key, bool oaep, const char *text, size_t len,
                    unsigned char ret_cipher[CIPHER_SIZE], size_t *ret_len)
{
    int padding = oaep ? RSA_PKCS1_OAEP_PADDING : RSA_PKCS1_PADDING;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    *ret_len = CIPHER_SIZE;
    bool done =
        context && EVP_PKEY_encrypt_init(context) > 0 &&
        EVP_PKEY_CTX_set_rsa_padding(context, padding) > 0 &&
        EVP_PKEY_encrypt(context, ret_cipher, ret_len, (const unsigned char *)text, len) > 0;
    EVP_PKEY_CTX_free(context);
    return done;
}

enum tl_status iperf3_auth_token(const struct tl_far_login *login, bool oaep, int64_t epoch_s,
                                 char ret_token[IPERF3_TOKEN_SIZE], struct tl_error *reterr)
{
    char text[TEXT_SIZE];
    unsigned char cipher[CIPHER_SIZE];
    size_t cipher_len;
    if (!login->user || !login->password || !login->public_pem)
        return tl_error_set(
            reterr, TL_USAGE,
            "an iperf3 server that asks for a user takes --user, --password-file and "
            "--public-key, all three");
    EVP_PKEY *key = read_key(login->public_pem);
    if (!key)
        return tl_error_set(reterr, TL_SYNTAX,
                            "the public key is no RSA key in PEM: give the server's own "
                            "(-----BEGIN PUBLIC KEY-----)");
    int len = snprintf(text, sizeof text, "user: %s\npwd:  %s\nts:   %lld", login->user,
                       login->password, (long long)epoch_s);
    bool fits = len > 0 && (size_t)len < sizeof text &&
                encrypt(key, oaep, text, (size_t)len, cipher, &cipher_len);
    OPENSSL_cleanse(text, sizeof text);
    EVP_PKEY_free(key);
    if (!fits)
        return tl_error_set(reterr, TL_LIMIT,
                            "user and password are too long for the server's public key");
    /* RFC 4648, without line ends. */
    (void)EVP_EncodeBlock((unsigned char *)ret_token, cipher, (int)cipher_len);
    return TL_OK;
}
