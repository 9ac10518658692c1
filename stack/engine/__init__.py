"""A small prefill/decode engine that speaks SGLang's protocol, with guards that can be off."""
