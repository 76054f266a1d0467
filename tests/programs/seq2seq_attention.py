# Reverse a sequence of digits: GRU encoder, Bahdanau attention, teacher forcing.
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS_token, EOS_token, VOCAB, MAX_LENGTH = 0, 1, 12, 6
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(13)
torch.manual_seed(13)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super(EncoderRNN, self).__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRUCell(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        decoder_input = torch.empty(encoder_outputs.size(0), dtype=torch.long, device=device).fill_(SOS_token)
        hidden = encoder_hidden[0]
        outputs, attentions = [], []
        for i in range(MAX_LENGTH):
            context, attn = self.attention(hidden.unsqueeze(1), encoder_outputs)
            hidden = self.gru(torch.cat((self.embedding(decoder_input), context.squeeze(1)), dim=1), hidden)
            logits = self.out(hidden)
            outputs.append(logits.unsqueeze(1))
            attentions.append(attn)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i]
            else:
                _, topi = logits.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), torch.cat(attentions, dim=1)


def train_step(input_tensor, target_tensor, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion, force):
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    encoder_outputs, encoder_hidden = encoder(input_tensor)
    decoder_outputs, _ = decoder(encoder_outputs, encoder_hidden, target_tensor if force else None)
    loss = criterion(decoder_outputs.view(-1, decoder_outputs.size(-1)), target_tensor.view(-1))
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.item()


encoder = EncoderRNN(VOCAB, 24).to(device)
decoder = AttnDecoderRNN(24, VOCAB).to(device)
encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.005)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.005)
criterion = nn.NLLLoss()
for it in range(16):
    words = [[random.randint(2, VOCAB - 1) for _ in range(MAX_LENGTH - 1)] for _ in range(16)]
    source = torch.tensor([w + [EOS_token] for w in words], device=device)
    target = torch.tensor([w[::-1] + [EOS_token] for w in words], device=device)
    loss = train_step(source, target, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion, random.random() < 0.7)
    print('loss %.6f' % loss)
